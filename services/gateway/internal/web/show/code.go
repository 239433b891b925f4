package show

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
)

// maxLines bounds the lines of Code.
const maxLines = 1_000

// Mark is an error at a place of a text.
type Mark struct {
	// Line and Column count from 1; zero means no place.
	Line, Column int64
	Message      string
}

// Code returns a text with line numbers, and the mark's message under its line.
func Code(text string, mark Mark) markup.Markup {
	var b markup.Builder
	b.Raw(`<pre class="code"><code>`)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		n := int64(i + 1)
		if i >= maxLines && n != mark.Line {
			continue
		}
		marked := n == mark.Line
		if marked {
			b.Raw(`<span class="bad">`)
		}
		line, cut := clip(line)
		b.Raw(fmt.Sprintf(`<span class="ln">%4d</span> `, n)).Text(Visible(line))
		if cut {
			b.Raw("…")
		}
		if marked {
			column := min(max(mark.Column, 1), int64(utf8.RuneCountInString(line))+1)
			b.Raw("\n", strings.Repeat(" ", int(column)+4), "^ ").Text(Line(mark.Message, 400)).Raw("</span>")
		}
		b.Raw("\n")
	}
	b.Raw("</code></pre>")
	if len(lines) > maxLines {
		b.Raw(`<p class="quiet">Only the first `, Count(maxLines), ` of `, Count(int64(len(lines))), ` lines are shown.</p>`)
	}
	return b.Markup()
}

// clip cuts a line that no screen can show.
func clip(line string) (string, bool) {
	const most = 2_000
	if len(line) <= most {
		return line, false
	}
	return strings.ToValidUTF8(line[:most], ""), true
}
