package jsontext

import (
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Builder gets the parts of a value in the order of their ends. Texts are parts of the source where it has no escapes.
type Builder interface {
	Null()
	Bool(b bool)
	// Number gets the literal as it is written. An error ends the scan and is returned by it.
	Number(literal string) error
	Text(s string)
	// Key comes before its value. Keys may repeat.
	Key(s string)
	// List ends an array of the last n values, Object an object of the last n keys and values.
	List(n int)
	Object(n int)
}

// SyntaxError tells why a text is no JSON, and where. Line and Column count from one, the column in characters.
type SyntaxError struct {
	Line, Column int
	Message      string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Scan reads one value with nothing but white space around it, and hands its parts over as they are read, so that the text is gone
// through once:
//
//	{"a": [1, "x"]}  ──▶  Key a · Number 1 · Text x · List of 2 · Object of 1
//
// The error is a *SyntaxError, also for what nests deeper than maxDepth, or the builder's.
func Scan(text string, maxDepth int, b Builder) error {
	data := unsafe.Slice(unsafe.StringData(text), len(text)) //nolint:gosec // It is read alone; a copy would cost a tenth of the scan.
	l := Lexer{Data: data, MaxDepth: maxDepth}
	to := parts{Builder: b, text: text}
	if l.take(l.walk(l.space(0), 0, &to)) {
		l.End()
	}
	if to.err != nil || !l.stopped {
		return to.err
	}
	before := text[:l.At]
	start := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{
		Line:    1 + strings.Count(before, "\n"),
		Column:  1 + utf8.RuneCountInString(before[start:]),
		Message: l.Reason,
	}
}

// parts hands over what is found in a text.
type parts struct {
	Builder
	text string
	err  error // Of the builder.
}

// characters are those of the string that begins and ends at these places.
func (p *parts) characters(i, end int, plain bool) string {
	s := p.text[i+1 : end-1]
	if !plain {
		s = string(unescape([]byte(s)))
	}
	return s
}
