package show

import "github.com/orch-project/orch/services/gateway/internal/web/markup"

// Health returns the health of an object: a word, the time since when, and a text.
func Health(status string, bad bool, since markup.Markup, text string) markup.Markup {
	class := "good"
	if bad {
		class = "bad"
	}
	if status == "" || status == "unknown" {
		class, status = "", "unknown"
	}
	var b markup.Builder
	b.Raw(`<span`).Attr("class", "pill "+class).Raw(">").Text(status).Raw("</span>")
	if !since.Empty() {
		b.Raw(" since ", since.Source())
	}
	if text != "" {
		b.Raw(`<span class="sub">`).Text(Visible(text)).Raw("</span>")
	}
	return b.Markup()
}
