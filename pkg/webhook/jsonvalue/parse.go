package jsonvalue

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxDepth bounds the nesting of what Parse takes. It is a little less than the decoder of the API takes, so that a
// value may be put into an event.
const MaxDepth = 120

// SyntaxError tells why a text is no JSON, and where. Line and Column count from one, the column in characters.
type SyntaxError struct {
	Line, Column int
	Message      string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Parse reads one JSON value with nothing but white space around it. The error is a *SyntaxError.
func Parse(text string) (Value, error) {
	p := parser{s: strings.ToValidUTF8(text, "\ufffd")}
	v, ok := p.value(1)
	if ok {
		if p.space(); p.at < len(p.s) {
			ok = p.fail("unexpected text after the value")
		}
	}
	if !ok {
		return Value{}, p.syntaxError()
	}
	return v, nil
}

// parser takes values off s[at:]. After the first fault every method returns false.
type parser struct {
	s       string
	at      int
	message string
}

func (p *parser) fail(message string) bool {
	if p.message == "" {
		p.message = message
	}
	return false
}

func (p *parser) syntaxError() *SyntaxError {
	before := p.s[:min(p.at, len(p.s))]
	start := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{
		Line:    1 + strings.Count(before, "\n"),
		Column:  1 + utf8.RuneCountInString(before[start:]),
		Message: p.message,
	}
}

func (p *parser) space() {
	for p.at < len(p.s) {
		switch p.s[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

// peek is the first byte of the next token, 0 at the end.
func (p *parser) peek() byte {
	if p.space(); p.at < len(p.s) {
		return p.s[p.at]
	}
	return 0
}

func (p *parser) value(depth int) (Value, bool) {
	if depth > MaxDepth {
		return Value{}, p.fail(fmt.Sprintf("nested more than %d levels deep", MaxDepth))
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		s, ok := p.text()
		return Text(s), ok
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case p.at == len(p.s):
		return Value{}, p.fail("the text ends where a value is expected")
	}
	for _, literal := range [...]struct {
		text  string
		value Value
	}{{"null", Value{}}, {"true", Flag(true)}, {"false", Flag(false)}} {
		if strings.HasPrefix(p.s[p.at:], literal.text) {
			p.at += len(literal.text)
			return literal.value, true
		}
	}
	return Value{}, p.fail("a value is expected")
}

func (p *parser) array(depth int) (Value, bool) {
	p.at++
	items := []Value{}
	if p.peek() == ']' {
		p.at++
		return List(items...), true
	}
	for {
		item, ok := p.value(depth + 1)
		if !ok {
			return Value{}, false
		}
		items = append(items, item)
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			p.at++
			return List(items...), true
		default:
			return Value{}, p.fail("a comma or a closing bracket is expected")
		}
	}
}

// fewMembers is the number of keys up to which a search is as good as a map.
const fewMembers = 16

func (p *parser) object(depth int) (Value, bool) {
	p.at++
	members := []Member{}
	var places map[string]int
	if p.peek() == '}' {
		p.at++
		return Map(members...), true
	}
	for {
		if p.peek() != '"' {
			return Value{}, p.fail("a key in double quotes is expected")
		}
		key, ok := p.text()
		if !ok {
			return Value{}, false
		}
		if p.peek() != ':' {
			return Value{}, p.fail("a colon is expected after the key")
		}
		p.at++
		v, ok := p.value(depth + 1)
		if !ok {
			return Value{}, false
		}
		members, places = put(members, places, Member{key, v})
		switch p.peek() {
		case ',':
			p.at++
		case '}':
			p.at++
			return Map(members...), true
		default:
			return Value{}, p.fail("a comma or a closing brace is expected")
		}
	}
}

// put appends a member, or replaces the value of an equal key.
func put(members []Member, places map[string]int, m Member) ([]Member, map[string]int) {
	if places == nil && len(members) == fewMembers {
		places = make(map[string]int, 4*fewMembers)
		for i := range members {
			places[members[i].Key] = i
		}
	}
	if places != nil {
		if at, ok := places[m.Key]; ok {
			members[at].Value = m.Value
			return members, places
		}
		places[m.Key] = len(members)
		return append(members, m), places
	}
	for i := range members {
		if members[i].Key == m.Key {
			members[i].Value = m.Value
			return members, nil
		}
	}
	return append(members, m), nil
}
