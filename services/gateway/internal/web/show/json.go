package show

import (
	"encoding/json"
	"strconv"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
)

const (
	// maxNodes and maxTree bound a JSON tree; the rest is cut and said to be.
	maxNodes = 2_000
	maxTree  = 200_000
	// openNodes is the size up to which branches are open at first.
	openNodes = 200
	maxDepth  = 60
)

// JSON returns a JSON text as a tree that folds without a script. Text that is not JSON is shown as it is.
func JSON(raw []byte) markup.Markup {
	if len(raw) == 0 {
		return markup.Markup{}
	}
	t := tree{left: maxNodes}
	value, err := jsontree.Limits{MaxDepth: maxDepth, MaxDigits: 4300}.Parse(string(raw))
	if err != nil || len(raw) > maxTree {
		return Preformatted(string(raw))
	}
	t.open = len(raw) < openNodes*20
	t.b.Raw(`<div class="json">`)
	t.value(value)
	if t.left <= 0 {
		t.b.Raw(`<p class="quiet">Only the first `, Count(maxNodes), ` values are shown.</p>`)
	}
	t.b.Raw("</div>")
	return t.b.Markup()
}

type tree struct {
	b    markup.Builder
	left int
	open bool
}

func (t *tree) value(v jsontree.Value) {
	t.left--
	switch v := v.(type) {
	case *jsontree.Object:
		t.branch("{", "}", v.Len(), "key", "keys", func() {
			for _, m := range v.Members() {
				if t.left <= 0 {
					return
				}
				t.b.Raw("<li><span class=\"k\">").Text(Line(m.Key, 200)).Raw("</span>: ")
				t.value(m.Value)
				t.b.Raw("</li>")
			}
		})
	case jsontree.List:
		t.branch("[", "]", len(v), "item", "items", func() {
			for _, item := range v {
				if t.left <= 0 {
					return
				}
				t.b.Raw("<li>")
				t.value(item)
				t.b.Raw("</li>")
			}
		})
	case string:
		t.b.Raw(`<span class="str">`).Text(strconv.Quote(limit(v))).Raw("</span>")
	case json.Number:
		t.b.Raw(`<span class="num">`).Text(limit(v.String())).Raw("</span>")
	case bool:
		t.b.Raw(`<span class="num">`, strconv.FormatBool(v), "</span>")
	default:
		t.b.Raw(`<span class="num">null</span>`)
	}
}

func limit(text string) string {
	const most = 5_000
	return Middle(text, most)
}

func (t *tree) branch(begin, end string, n int, one, many string, items func()) {
	if n == 0 {
		t.b.Raw(begin, end)
		return
	}
	t.b.Raw("<details")
	if t.open {
		t.b.Raw(" open")
	}
	t.b.Raw("><summary>", begin, ` <span class="quiet">`, Plural(int64(n), one, many), "</span></summary><ul>")
	items()
	t.b.Raw("</ul>", end, "</details>")
}

// Preformatted returns text as it is, cut at 200 kB.
func Preformatted(text string) markup.Markup {
	cut := len(text) > maxTree
	if cut {
		text = text[:maxTree]
	}
	var b markup.Builder
	b.Raw(`<pre class="text">`).Text(Visible(text)).Raw("</pre>")
	if cut {
		b.Raw(`<p class="quiet">Only the first `, Bytes(maxTree), ` are shown.</p>`)
	}
	return b.Markup()
}
