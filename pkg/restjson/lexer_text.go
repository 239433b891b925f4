package restjson

import (
	"unicode/utf8"

	"github.com/orch-project/orch/pkg/jsontext"
)

// text takes a string and gives its characters; they belong to the input unless the string has escapes.
func (l *lexer) text() []byte {
	start := l.pos + 1
	end, ascii := jsontext.Run(l.data, start)
	switch {
	case end == len(l.data):
		l.fail("unterminated string")
		return nil
	case l.data[end] == '\\':
		return l.escaped(start, end)
	case l.data[end] != '"':
		l.pos = end
		l.fail("control character in a string")
		return nil
	}
	s := l.data[start:end]
	if !ascii && !utf8.Valid(s) {
		l.fail("invalid UTF-8")
		return nil
	}
	l.pos = end + 1
	return s
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
