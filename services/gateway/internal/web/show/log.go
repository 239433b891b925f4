package show

import (
	"strconv"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
)

// LogLine is a line of a log.
type LogLine struct {
	// Number is the position in the log, which links name: #L123.
	Number int
	// Level is the name of the severity, which is a class of the style sheet too.
	Level, Logger, Message string
	Time                   markup.Markup
	// Task is the address of the task run, empty for a line of the flow run. TaskName replaces the logger where it is known.
	Task, TaskName string
}

// Log returns lines as a list. Numbered lines have an id and a link to themselves. A page has a thousand lines, so no
// template renders them.
func Log(lines []LogLine, numbered bool) markup.Markup {
	var b markup.Builder
	b.Raw(`<ol class="log">`)
	for _, l := range lines {
		b.Raw("\n  <li").Attr("class", "l-"+l.Level)
		if numbered {
			anchor := "L" + strconv.Itoa(l.Number)
			b.Attr("id", anchor).Raw("><a").Attr("href", "#"+anchor).Raw(">").Raw(l.Time.Source()).Raw("</a>")
		} else {
			b.Raw("><span>").Raw(l.Time.Source()).Raw("</span>")
		}
		b.Raw(`<span class="level">`).Text(l.Level).Raw(`</span><span class="logger"`).Attr("title", l.Logger).Raw(">")
		if l.TaskName != "" {
			b.Raw("<a").Attr("href", l.Task).Raw(">").Text(l.TaskName).Raw("</a>")
		} else {
			b.Text(l.Logger)
		}
		b.Raw(`</span><span class="message">`).Text(l.Message)
		if l.Task != "" && l.TaskName == "" {
			b.Raw(" <a").Attr("href", l.Task).Raw(">task</a>")
		}
		b.Raw("</span></li>")
	}
	b.Raw("\n</ol>")
	return b.Markup()
}
