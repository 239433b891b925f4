package show

import (
	"net/url"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
)

// Link returns a link within the dashboard. The target comes from page.Request.To.
func Link(to, text string) markup.Markup {
	var b markup.Builder
	b.Raw("<a").Attr("href", to).Raw(">").Text(Line(text, 80)).Raw("</a>")
	return b.Markup()
}

// External returns a link to an address that a user wrote, followed by its host. Anything but http, https and mailto is
// plain text.
func External(address, text string) markup.Markup {
	var b markup.Builder
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		b.Text(Visible(text))
		return b.Markup()
	}
	b.Raw("<a").Attr("href", u.String()).Attr("rel", "noopener noreferrer nofollow").Raw(">").Text(Visible(text)).Raw("</a>")
	if u.Host != "" && text != u.Host {
		b.Raw(` <span class="quiet">(`).Text(Visible(u.Host)).Raw(")</span>")
	}
	return b.Markup()
}

// ID returns the first eight characters of an id, with a button that copies all of it.
func ID(id string) markup.Markup {
	if id == "" {
		return markup.Markup{}
	}
	short := id
	if len(short) > 8 {
		short = short[:8]
	}
	var b markup.Builder
	b.Raw(`<span class="id"><code`).Attr("title", id).Raw(">").Text(short).Raw("</code>")
	b.Raw(`<button type="button" class="copy" hidden`).Attr("data-copy", id).Attr("aria-label", "Copy "+id).Raw(">", icon("copy"), "</button></span>")
	return b.Markup()
}

// Tags returns tags as chips.
func Tags(tags []string) markup.Markup {
	var b markup.Builder
	const most = 8
	for i, tag := range tags {
		if i == most {
			b.Raw(`<span class="tag">+`).Text(Count(int64(len(tags) - most))).Raw("</span>")
			break
		}
		b.Raw(`<span class="tag">`).Text(Line(tag, 30)).Raw("</span>")
	}
	return b.Markup()
}

// Text returns escaped text as markup, where a page has either text or a link.
func Text(text string) markup.Markup {
	var b markup.Builder
	return b.Text(Visible(text)).Markup()
}
