package jsontoken

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// Builder receives the parts of a value in the order in which they end. Strings share memory with the text where it has no escapes.
type Builder interface {
	Null()
	Bool(b bool)
	// Number receives the literal as written. An error ends the scan, and Scan returns it.
	Number(literal string) error
	Text(s string)
	// Key precedes its value. Keys may repeat.
	Key(s string)
	// Array ends an array of the last n values, Object an object of the last n keys and values.
	Array(n int)
	Object(n int)
}

// SyntaxError says why a text is not JSON, and where. Line and Column count from 1, Column in characters.
type SyntaxError struct {
	Line, Column int
	Message      string
}

// Error returns the message with its position.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Scan reads one value with optional white space around it, and reports its parts to b in one pass:
//
//	{"a": [1, "x"]}  ──▶  Key a · Number 1 · Text x · Array of 2 · Object of 1
//
// A text that is not JSON or exceeds the limits returns a *SyntaxError; an error of the builder is returned as it is.
func Scan(text string, limits Limits, b Builder) error {
	buffer := buffers.Get().(*[]byte)
	*buffer = append((*buffer)[:0], text...)
	defer release(buffer)
	l := Lexer{Data: *buffer, MaxDepth: limits.Depth, MaxValues: limits.Values}
	to := emitter{Builder: b, text: text}
	if l.advance(l.value(l.space(0), 0, &to)) {
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

// buffers holds copies of scanned texts for reuse. A new copy for each scan costs a sixth of parsing a text with long strings.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxPooled is the capacity of the largest buffer that returns to the pool, in bytes. It fits the largest bodies, which few requests scan
// at a time; each copy of theirs would bring the next garbage collection nearer.
const maxPooled = 8 << 20

func release(buffer *[]byte) {
	if cap(*buffer) <= maxPooled {
		buffers.Put(buffer)
	}
}

// emitter passes the parts of a text to a builder.
type emitter struct {
	Builder
	text string
	err  error // The builder's error.
}

// characters returns the characters of the string whose quotes are at i and before end.
func (e *emitter) characters(i, end int, plain bool) string {
	s := e.text[i+1 : end-1]
	if !plain {
		s = string(unescape([]byte(s)))
	}
	return s
}
