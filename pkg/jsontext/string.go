package jsontext

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Each byte of a word.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// Run gives the end of the bytes from i on that stand for themselves in a string: the place of the first quote,
// backslash or control character, or the length of the text. ascii tells whether all of them are ASCII.
func Run(text []byte, i int) (end int, ascii bool) {
	var high uint64
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		// A byte's top bit is set where it is a quote, a backslash or below 0x20. A borrow may set it in bytes above
		// the first of them too, of which nobody asks.
		quote, backslash := w^ones*'"', w^ones*'\\'
		ends := ((quote-ones)&^quote | (backslash-ones)&^backslash | (w-ones*0x20)&^w) & highs
		if ends != 0 {
			high |= w & (ends&-ends - 1)
			return i + bits.TrailingZeros64(ends)>>3, high&highs == 0
		}
		high |= w
	}
	for ; i < len(text); i++ {
		c := text[i]
		if c == '"' || c == '\\' || c < 0x20 {
			break
		}
		high |= uint64(c)
	}
	return i, high&highs == 0
}

const (
	noEscape  = "a backslash is not followed by an escape"
	noUnicode = `\u is not followed by four hexadecimal digits`
)

// escape gives the length of the escape whose backslash is at i, or what is wrong with it. A surrogate pair is one escape; lone
// tells of half of one.
func escape(text []byte, i int) (n int, fault string, lone bool) {
	if i+1 == len(text) {
		return 1, "", false // A string that does not end.
	}
	if text[i+1] != 'u' {
		if plainEscape(text[i+1]) == 0 {
			return 0, noEscape, false
		}
		return 2, "", false
	}
	unit, ok := unicodeEscape(text, i)
	switch {
	case !ok:
		return 0, noUnicode, false
	case !utf16.IsSurrogate(unit):
		return 6, "", false
	}
	if second, ok := unicodeEscape(text, i+6); ok && utf16.DecodeRune(unit, second) != utf8.RuneError {
		return 12, "", false
	}
	return 6, "", true
}

// plainEscape is what a letter behind a backslash stands for; 0 when it is no escape of one letter.
func plainEscape(letter byte) byte {
	switch letter {
	case '"', '\\', '/':
		return letter
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

// unicodeEscape reads the \uXXXX at i, which may be half of a pair.
func unicodeEscape(text []byte, i int) (unit rune, ok bool) {
	if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
		return 0, false
	}
	for _, c := range text[i+2 : i+6] {
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
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

// unescape gives the characters of a string whose escapes are all good.
func unescape(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for {
		end, _ := Run(s, 0)
		out = append(out, s[:end]...)
		if end == len(s) {
			return out
		}
		s = s[end:]
		if s[1] != 'u' {
			out = append(out, plainEscape(s[1]))
			s = s[2:]
			continue
		}
		r, _ := unicodeEscape(s, 0)
		s = s[6:]
		if utf16.IsSurrogate(r) {
			second, _ := unicodeEscape(s, 0)
			if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
				s = s[6:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
}

const hexDigits = "0123456789abcdef"

// AppendString writes s as a JSON string. Only what JSON demands is escaped; s must be valid UTF-8.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := len(dst)
	dst = append(dst, s...)
	end, _ := Run(dst, start)
	if end == len(dst) {
		return append(dst, '"')
	}
	s = s[end-start:]
	dst = dst[:end]
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		from = i + 1
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
