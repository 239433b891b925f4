package jinja

import (
	"strings"
	"unicode/utf8"
)

// pos is a byte offset in the normalised source, or -1 without a position.
type pos int32

// source is the text of a template with all line breaks as "\n" and without the last one.
type source struct{ text string }

func newSource(text string) *source {
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return &source{text: strings.TrimSuffix(text, "\n")}
}

// locate converts an offset to line, column (in characters, from 1) and the text of the line.
func (s *source) locate(p pos) (line, col int, text string) {
	at := min(int(p), len(s.text))
	line = 1 + strings.Count(s.text[:at], "\n")
	start := strings.LastIndexByte(s.text[:at], '\n') + 1
	end := len(s.text)
	if i := strings.IndexByte(s.text[at:], '\n'); i >= 0 {
		end = at + i
	}
	return line, 1 + utf8.RuneCountInString(s.text[start:at]), s.text[start:end]
}
