// Package jsonscan reads JSON that others wrote and says where it is none. What becomes of it is its caller's: each part is
// handed over as it is read, so that the text is gone through once.
//
//	{"a": [1, "x"]}  ──▶  Key a · Number 1 · Text x · List of 2 · Object of 1
//
// The grammar is taken strictly. Half of a surrogate pair becomes U+FFFD.
package jsonscan

import (
	"fmt"
	"strings"
	"unicode/utf8"
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

// Scan reads one value with nothing but white space around it. The text must be valid UTF-8. The error is a *SyntaxError,
// also for what nests deeper than maxDepth, or the builder's.
func Scan(text string, maxDepth int, b Builder) error {
	s := scanner{s: text, maxDepth: maxDepth, to: b}
	ok := s.value(1)
	if ok {
		if s.space(); s.at < len(s.s) {
			ok = s.fail("unexpected text after the value")
		}
	}
	switch {
	case ok:
		return nil
	case s.err != nil:
		return s.err
	}
	return s.syntaxError()
}

// scanner takes values off s[at:]. After the first fault every method returns false.
type scanner struct {
	s        string
	at       int
	maxDepth int
	to       Builder
	message  string // Of the first fault, at its place.
	err      error  // Of the builder.
}

func (s *scanner) fail(message string) bool {
	if s.message == "" {
		s.message = message
	}
	return false
}

func (s *scanner) syntaxError() *SyntaxError {
	before := s.s[:min(s.at, len(s.s))]
	start := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{
		Line:    1 + strings.Count(before, "\n"),
		Column:  1 + utf8.RuneCountInString(before[start:]),
		Message: s.message,
	}
}

func (s *scanner) space() {
	for s.at < len(s.s) {
		switch s.s[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// peek is the first byte of the next token, 0 at the end.
func (s *scanner) peek() byte {
	if s.space(); s.at < len(s.s) {
		return s.s[s.at]
	}
	return 0
}

func (s *scanner) value(depth int) bool {
	if depth > s.maxDepth {
		return s.fail(fmt.Sprintf("nested more than %d levels deep", s.maxDepth))
	}
	switch c := s.peek(); {
	case c == '"':
		text, ok := s.text()
		if ok {
			s.to.Text(text)
		}
		return ok
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.array(depth)
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case s.at == len(s.s):
		return s.fail("the text ends where a value is expected")
	case s.word("true"):
		s.to.Bool(true)
	case s.word("false"):
		s.to.Bool(false)
	case s.word("null"):
		s.to.Null()
	default:
		return s.fail("a value is expected")
	}
	return true
}

func (s *scanner) word(w string) bool {
	found := strings.HasPrefix(s.s[s.at:], w)
	if found {
		s.at += len(w)
	}
	return found
}

func (s *scanner) array(depth int) bool {
	s.at++
	if s.peek() == ']' {
		s.at++
		s.to.List(0)
		return true
	}
	for n := 1; ; n++ {
		if !s.value(depth + 1) {
			return false
		}
		switch s.peek() {
		case ',':
			s.at++
		case ']':
			s.at++
			s.to.List(n)
			return true
		default:
			return s.fail("a comma or a closing bracket is expected")
		}
	}
}

func (s *scanner) object(depth int) bool {
	s.at++
	if s.peek() == '}' {
		s.at++
		s.to.Object(0)
		return true
	}
	for n := 1; ; n++ {
		if s.peek() != '"' {
			return s.fail("a key in double quotes is expected")
		}
		key, ok := s.text()
		if !ok {
			return false
		}
		s.to.Key(key)
		if s.peek() != ':' {
			return s.fail("a colon is expected after the key")
		}
		s.at++
		if !s.value(depth + 1) {
			return false
		}
		switch s.peek() {
		case ',':
			s.at++
		case '}':
			s.at++
			s.to.Object(n)
			return true
		default:
			return s.fail("a comma or a closing brace is expected")
		}
	}
}
