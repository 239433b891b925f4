package restjson

import (
	"bytes"
	"errors"
	"fmt"
)

// maxDepth bounds the nesting of arrays and objects in a body.
const maxDepth = 128

// ErrSyntax is wrapped when text is no JSON.
var ErrSyntax = errors.New("restjson: not valid JSON")

// Compact checks one JSON value (grammar, UTF-8, surrogates, depth) and drops its whitespace; the rest stays as it was
// written. It is how free JSON that does not come from a request gets into a message.
func Compact(data []byte) ([]byte, error) {
	l := lexer{data: data}
	l.space()
	raw := l.compact()
	l.end()
	switch {
	case l.stopped && l.reason != "":
		return nil, fmt.Errorf("%w: %s at byte %d", ErrSyntax, l.reason, l.at)
	case l.surrogate:
		return nil, fmt.Errorf("%w: lone surrogate", ErrSyntax)
	}
	return raw, nil
}

// lexer takes tokens off the front of data[pos:]. After the first error of syntax it is stopped and at the end, so
// that callers need to look at the error only where they loop.
type lexer struct {
	data      []byte
	pos       int
	depth     int
	stopped   bool
	reason    string // what is wrong with the syntax
	at        int    // where
	spaces    int    // whitespace bytes skipped so far
	surrogate bool   // a string had half of a surrogate pair
}

func (l *lexer) fail(reason string) {
	if !l.stopped {
		l.stopped, l.reason, l.at = true, reason, l.pos
	}
	l.pos = len(l.data)
}

func (l *lexer) space() {
	start := l.pos
	for l.pos < len(l.data) {
		if c := l.data[l.pos]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			break
		}
		l.pos++
	}
	l.spaces += l.pos - start
}

// peek gives the first byte of the next token; 0 at the end.
func (l *lexer) peek() byte {
	l.space()
	if l.pos >= len(l.data) {
		return 0
	}
	return l.data[l.pos]
}

func (l *lexer) expect(c byte) bool {
	if l.peek() != c {
		l.fail("expected '" + string(rune(c)) + "'")
		return false
	}
	l.pos++
	return true
}

func (l *lexer) end() {
	if !l.stopped && l.peek() != 0 || !l.stopped && l.pos < len(l.data) {
		l.fail("extra data")
	}
}

// literal takes one of true, false and null.
func (l *lexer) literal(word string) {
	if !bytes.HasPrefix(l.data[l.pos:], []byte(word)) {
		l.fail("expected a value")
		return
	}
	l.pos += len(word)
}

// enter goes one array or object deeper.
func (l *lexer) enter() bool {
	l.pos++
	if l.depth++; l.depth > maxDepth {
		l.fail("nested too deeply")
		return false
	}
	return true
}

func (l *lexer) leave() { l.depth-- }

// members calls each for every member of an object, standing before its value, which each must take. The key is
// valid during the call.
func (l *lexer) members(each func(key []byte)) {
	if !l.enter() {
		return
	}
	defer l.leave()
	if l.peek() == '}' {
		l.pos++
		return
	}
	for !l.stopped {
		if l.peek() != '"' {
			l.fail("expected a key in double quotes")
			return
		}
		key := l.text()
		if !l.expect(':') {
			return
		}
		l.space()
		each(key)
		if l.peek() == ',' {
			l.pos++
			continue
		}
		if !l.stopped && l.peek() != '}' {
			l.fail("expected ',' or '}'")
			return
		}
		l.pos++
		break
	}
	l.clip()
}

// items calls each for every item of an array, standing before it; each must take it.
func (l *lexer) items(each func(i int)) {
	if !l.enter() {
		return
	}
	defer l.leave()
	if l.peek() == ']' {
		l.pos++
		return
	}
	for i := 0; !l.stopped; i++ {
		l.space()
		each(i)
		if l.peek() == ',' {
			l.pos++
			continue
		}
		if !l.stopped && l.peek() != ']' {
			l.fail("expected ',' or ']'")
			return
		}
		l.pos++
		break
	}
	l.clip()
}

// clip keeps a stopped lexer at the end.
func (l *lexer) clip() { l.pos = min(l.pos, len(l.data)) }

// skip takes a value, checked.
func (l *lexer) skip() {
	switch c := l.peek(); {
	case c == '{':
		l.members(func([]byte) { l.skip() })
	case c == '[':
		l.items(func(int) { l.skip() })
	case c == '"':
		l.text()
	case c == 't':
		l.literal("true")
	case c == 'f':
		l.literal("false")
	case c == 'n':
		l.literal("null")
	default:
		l.number()
	}
}

// raw takes a value and gives its bytes as written; they belong to the input.
func (l *lexer) raw() []byte {
	l.space()
	start := l.pos
	l.skip()
	if l.stopped {
		return nil
	}
	return l.data[start:l.pos]
}

// compact takes a value and gives a copy of it without whitespace.
func (l *lexer) compact() []byte {
	l.space()
	spaces := l.spaces
	raw := l.raw()
	if l.spaces == spaces {
		return bytes.Clone(raw)
	}
	return dropSpace(raw)
}

// dropSpace copies a valid JSON value without whitespace.
func dropSpace(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case ' ', '\n', '\r', '\t':
		case '"':
			start := i
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			out = append(out, raw[start:i+1]...)
		default:
			out = append(out, c)
		}
	}
	return out
}

// number takes a number and gives its lexeme, which belongs to the input.
func (l *lexer) number() []byte {
	start := l.pos
	i := start
	digits := func() bool {
		from := i
		for i < len(l.data) && l.data[i] >= '0' && l.data[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(l.data) && l.data[i] == '-' {
		i++
	}
	whole := i
	if !digits() {
		l.fail("expected a value")
		return nil
	}
	ok := l.data[whole] != '0' || i == whole+1
	if ok && i < len(l.data) && l.data[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(l.data) && (l.data[i] == 'e' || l.data[i] == 'E') {
		i++
		if i < len(l.data) && (l.data[i] == '+' || l.data[i] == '-') {
			i++
		}
		ok = digits()
	}
	if !ok {
		l.fail("malformed number")
		return nil
	}
	l.pos = i
	return l.data[start:i]
}
