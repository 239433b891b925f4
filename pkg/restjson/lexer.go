package restjson

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
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

// text takes a string and gives its characters; they belong to the input unless the string has escapes.
func (l *lexer) text() []byte {
	start := l.pos + 1
	ascii := true
	for i := start; i < len(l.data); i++ {
		switch c := l.data[i]; {
		case c == '"':
			s := l.data[start:i]
			if !ascii && !utf8.Valid(s) {
				l.fail("invalid UTF-8")
				return nil
			}
			l.pos = i + 1
			return s
		case c == '\\':
			return l.escaped(start, i)
		case c < 0x20:
			l.pos = i
			l.fail("control character in a string")
			return nil
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	l.fail("unterminated string")
	return nil
}

// escaped takes a string whose first backslash is at i.
func (l *lexer) escaped(start, i int) []byte {
	out := append(make([]byte, 0, i-start+32), l.data[start:i]...)
	for i < len(l.data) {
		c := l.data[i]
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				l.fail("invalid UTF-8")
				return nil
			}
			l.pos = i + 1
			return out
		case c < 0x20:
			l.pos = i
			l.fail("control character in a string")
			return nil
		case c != '\\':
			out = append(out, c)
			i++
			continue
		}
		if i+1 >= len(l.data) {
			break
		}
		i++
		if l.data[i] != 'u' {
			r := unescape(l.data[i])
			if r == 0 {
				l.pos = i
				l.fail("invalid escape")
				return nil
			}
			out = append(out, r)
			i++
			continue
		}
		r, n := l.codePoint(i + 1)
		if n == 0 {
			l.pos = i
			l.fail("invalid escape")
			return nil
		}
		out = utf8.AppendRune(out, r)
		i += 1 + n
	}
	l.fail("unterminated string")
	return nil
}

func unescape(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

// codePoint reads what follows \u at i, and the second half of a surrogate pair; n is the number of bytes taken, 0
// when they are no escape.
func (l *lexer) codePoint(i int) (r rune, n int) {
	r, ok := l.hex4(i)
	if !ok {
		return 0, 0
	}
	switch {
	case r < 0xD800 || r > 0xDFFF:
		return r, 4
	case r < 0xDC00 && i+6 <= len(l.data) && l.data[i+4] == '\\' && l.data[i+5] == 'u':
		if low, ok := l.hex4(i + 6); ok && low >= 0xDC00 && low <= 0xDFFF {
			return (r-0xD800)<<10 + (low - 0xDC00) + 0x10000, 10
		}
	}
	l.surrogate = true
	return utf8.RuneError, 4
}

func (l *lexer) hex4(i int) (r rune, ok bool) {
	if i+4 > len(l.data) {
		return 0, false
	}
	for _, c := range l.data[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
