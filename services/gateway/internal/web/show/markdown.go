package show

import (
	"bytes"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
)

// maxMarkdown bounds the text that is rendered, in bytes.
const maxMarkdown = 200_000

// markdown renders GitHub's tables and lists; raw HTML is dropped.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(ownNodes{}, 1))),
	)
})

// sanitizer removes everything but text markup and links to http, https and mailto.
var sanitizer = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre", "blockquote",
		"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
})

// Markdown renders markdown that a user wrote. Images become links, because pages load nothing from other origins.
func Markdown(text string) markup.Markup {
	if text == "" {
		return markup.Markup{}
	}
	if len(text) > maxMarkdown {
		return Preformatted(text)
	}
	var out bytes.Buffer
	if err := markdown().Convert([]byte(Visible(text)), &out); err != nil {
		return Preformatted(text)
	}
	return markup.Trust(string(sanitizer().SanitizeBytes(out.Bytes())))
}

// ownNodes renders an image as a link to it, and headings below the heading of the page. They have two levels: a deeper one could skip
// a level.
type ownNodes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (ownNodes) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(ast.KindHeading, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		level := "2"
		if heading, ok := node.(*ast.Heading); ok && heading.Level > 2 {
			level = "3"
		}
		if entering {
			level = "<h" + level + ">"
		} else {
			level = "</h" + level + ">"
		}
		_, _ = w.WriteString(level) // The buffer reports errors at its end.
		return ast.WalkContinue, nil
	})
	to.Register(ast.KindImage, func(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		image, ok := node.(*ast.Image)
		if !ok {
			return ast.WalkContinue, nil
		}
		if entering {
			_, _ = w.WriteString(`<a href="` + string(util.EscapeHTML(util.URLEscape(image.Destination, true))) + `">`) // The buffer reports errors at its end.
			if !image.HasChildren() {
				_, _ = w.WriteString("image")
			}
			return ast.WalkContinue, nil
		}
		_, _ = w.WriteString("</a>")
		return ast.WalkContinue, nil
	})
}
