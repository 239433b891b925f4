package show

import (
	"fmt"
	"strings"

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
	lines := codeLines(text)
	var b markup.Builder
	writeCode(&b, lines, 0, min(len(lines), maxLines), mark)
	if mark.Line > maxLines && mark.Line <= int64(len(lines)) {
		writeCode(&b, lines, int(mark.Line-1), int(mark.Line), mark)
	}
	if len(lines) > maxLines {
		b.Raw(`<p class="quiet">Only the first `, Count(maxLines), ` of `, Count(int64(len(lines))), ` lines are shown.</p>`)
	}
	return b.Markup()
}

// linesAround is the number of lines on each side of a mark in an excerpt.
const linesAround = 4

// CodeExcerpt returns the lines around a mark as Code does, so that the error is in view. Without a line it is Code.
func CodeExcerpt(text string, mark Mark) markup.Markup {
	lines := codeLines(text)
	if mark.Line < 1 || mark.Line > int64(len(lines)) {
		return Code(text, mark)
	}
	var b markup.Builder
	writeCode(&b, lines, max(0, int(mark.Line)-1-linesAround), min(len(lines), int(mark.Line)+linesAround), mark)
	return b.Markup()
}

func codeLines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// writeCode writes the lines from one index up to another.
func writeCode(b *markup.Builder, lines []string, from, to int, mark Mark) {
	b.Raw(`<pre class="code"><code>`)
	for i := from; i < to; i++ {
		line, cut := clip(lines[i])
		marked := int64(i+1) == mark.Line
		if marked {
			b.Raw(`<span class="bad">`)
		}
		b.Raw(fmt.Sprintf(`<span class="ln">%4d</span> `, i+1))
		if marked {
			writeMarked(b, line, mark.Column)
		} else {
			b.Text(Visible(line))
		}
		if cut {
			b.Raw("…")
		}
		if marked {
			b.Raw("\n     ").Text(Line(mark.Message, 400)).Raw("</span>")
		}
		b.Raw("\n")
	}
	b.Raw("</code></pre>")
}

// writeMarked writes a line with its character at a column marked. Lines wrap, so a sign below the column would be misplaced.
func writeMarked(b *markup.Builder, line string, column int64) {
	characters := []rune(line)
	at := int(min(max(column, 1)-1, int64(len(characters))))
	b.Text(Visible(string(characters[:at]))).Raw("<mark>")
	if at < len(characters) {
		b.Text(Visible(string(characters[at])))
		at++
	} else {
		b.Raw(" ")
	}
	b.Raw("</mark>").Text(Visible(string(characters[at:])))
}

// clip cuts a line that no screen can show.
func clip(line string) (string, bool) {
	const most = 2_000
	if len(line) <= most {
		return line, false
	}
	return strings.ToValidUTF8(line[:most], ""), true
}
