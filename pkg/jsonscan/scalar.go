package jsonscan

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// digits takes at least one digit.
func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.s) && '0' <= s.s[s.at] && s.s[s.at] <= '9' {
		s.at++
	}
	return s.at > start || s.fail("a digit is expected")
}

func (s *scanner) number() bool {
	start := s.at
	if s.s[s.at] == '-' {
		s.at++
	}
	if strings.HasPrefix(s.s[s.at:], "0") {
		s.at++ // No digit may follow: what follows is then unexpected.
	} else if !s.digits() {
		return false
	}
	if strings.HasPrefix(s.s[s.at:], ".") {
		if s.at++; !s.digits() {
			return false
		}
	}
	if s.at < len(s.s) && (s.s[s.at] == 'e' || s.s[s.at] == 'E') {
		s.at++
		if s.at < len(s.s) && (s.s[s.at] == '+' || s.s[s.at] == '-') {
			s.at++
		}
		if !s.digits() {
			return false
		}
	}
	s.err = s.to.Number(s.s[start:s.at])
	return s.err == nil
}

// text takes a string in quotes. Without escapes it is a part of the source, otherwise a copy.
func (s *scanner) text() (string, bool) {
	s.at++
	start := s.at
	for s.at < len(s.s) {
		switch c := s.s[s.at]; {
		case c == '"':
			s.at++
			return s.s[start : s.at-1], true
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			return "", s.fail("a control character stands in a string")
		}
		s.at++
	}
	return "", s.fail("a string does not end")
}

// escaped goes on with a string whose first escape is next.
func (s *scanner) escaped(start int) (string, bool) {
	b := append(make([]byte, 0, 2*(s.at-start)+16), s.s[start:s.at]...)
	for s.at < len(s.s) {
		switch c := s.s[s.at]; {
		case c == '"':
			s.at++
			return string(b), true
		case c < ' ':
			return "", s.fail("a control character stands in a string")
		case c != '\\':
			b = append(b, c)
			s.at++
		default:
			r, ok := s.escape()
			if !ok {
				return "", false
			}
			b = utf8.AppendRune(b, r)
		}
	}
	return "", s.fail("a string does not end")
}

func (s *scanner) escape() (rune, bool) {
	const signs, meaning = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if s.at+1 < len(s.s) {
		if i := strings.IndexByte(signs, s.s[s.at+1]); i >= 0 {
			s.at += 2
			return rune(meaning[i]), true
		}
		if s.s[s.at+1] == 'u' {
			return s.unicodeEscape()
		}
	}
	return 0, s.fail("a backslash is not followed by an escape")
}

// unicodeEscape takes \uXXXX, or two of them that are a pair. Half of a pair is U+FFFD.
func (s *scanner) unicodeEscape() (rune, bool) {
	first, ok := s.unit()
	if !ok {
		return 0, s.fail(`\u is not followed by four hexadecimal digits`)
	}
	s.at += 6
	if !utf16.IsSurrogate(first) {
		return first, true
	}
	if second, ok := s.unit(); ok {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			s.at += 6
			return r, true
		}
	}
	return utf8.RuneError, true
}

// unit reads the \uXXXX that is next, and leaves it there.
func (s *scanner) unit() (rune, bool) {
	if !strings.HasPrefix(s.s[s.at:], `\u`) || s.at+6 > len(s.s) {
		return 0, false
	}
	digits := s.s[s.at+2 : s.at+6]
	n, err := strconv.ParseUint(digits, 16, 16)
	return rune(n), err == nil
}
