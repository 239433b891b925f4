package jsonvalue

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// digits takes at least one digit.
func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.s) && '0' <= p.s[p.at] && p.s[p.at] <= '9' {
		p.at++
	}
	return p.at > start || p.fail("a digit is expected")
}

func (p *parser) number() (Value, bool) {
	start := p.at
	if p.s[p.at] == '-' {
		p.at++
	}
	if strings.HasPrefix(p.s[p.at:], "0") {
		p.at++ // No digit may follow: what follows is then unexpected.
	} else if !p.digits() {
		return Value{}, false
	}
	if strings.HasPrefix(p.s[p.at:], ".") {
		if p.at++; !p.digits() {
			return Value{}, false
		}
	}
	if p.at < len(p.s) && (p.s[p.at] == 'e' || p.s[p.at] == 'E') {
		p.at++
		if p.at < len(p.s) && (p.s[p.at] == '+' || p.s[p.at] == '-') {
			p.at++
		}
		if !p.digits() {
			return Value{}, false
		}
	}
	return Value{kind: Number, text: p.s[start:p.at]}, true
}

// text takes a string in quotes. Without escapes it is a part of the source, otherwise a copy.
func (p *parser) text() (string, bool) {
	p.at++
	start := p.at
	for p.at < len(p.s) {
		switch c := p.s[p.at]; {
		case c == '"':
			p.at++
			return p.s[start : p.at-1], true
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", p.fail("a control character stands in a string")
		}
		p.at++
	}
	return "", p.fail("a string does not end")
}

// escaped goes on with a string whose first escape is next.
func (p *parser) escaped(start int) (string, bool) {
	b := append(make([]byte, 0, 2*(p.at-start)+16), p.s[start:p.at]...)
	for p.at < len(p.s) {
		switch c := p.s[p.at]; {
		case c == '"':
			p.at++
			return string(b), true
		case c < ' ':
			return "", p.fail("a control character stands in a string")
		case c != '\\':
			b = append(b, c)
			p.at++
		default:
			r, ok := p.escape()
			if !ok {
				return "", false
			}
			b = utf8.AppendRune(b, r)
		}
	}
	return "", p.fail("a string does not end")
}

func (p *parser) escape() (rune, bool) {
	const signs, meaning = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if p.at+1 < len(p.s) {
		if i := strings.IndexByte(signs, p.s[p.at+1]); i >= 0 {
			p.at += 2
			return rune(meaning[i]), true
		}
		if p.s[p.at+1] == 'u' {
			return p.unicodeEscape()
		}
	}
	return 0, p.fail("a backslash is not followed by an escape")
}

// unicodeEscape takes \uXXXX, or two of them that are a pair. Half of a pair is U+FFFD.
func (p *parser) unicodeEscape() (rune, bool) {
	first, ok := p.unit()
	if !ok {
		return 0, p.fail(`\u is not followed by four hexadecimal digits`)
	}
	p.at += 6
	if !utf16.IsSurrogate(first) {
		return first, true
	}
	if second, ok := p.unit(); ok {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			p.at += 6
			return r, true
		}
	}
	return utf8.RuneError, true
}

// unit reads the \uXXXX that is next, and leaves it there.
func (p *parser) unit() (rune, bool) {
	if !strings.HasPrefix(p.s[p.at:], `\u`) || p.at+6 > len(p.s) {
		return 0, false
	}
	digits := p.s[p.at+2 : p.at+6]
	n, err := strconv.ParseUint(digits, 16, 16)
	return rune(n), err == nil
}
