package jsontoken

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"unicode/utf16"
	"unicode/utf8"
)

// Masks for eight bytes in one word: the value 1 in each byte, and the top bit of each byte.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// PlainEnd returns the end of the characters from i on that need no escape: the offset of the first quote, backslash or control
// character, or the length of the text. It also reports whether these characters are all ASCII.
func PlainEnd(text []byte, i int) (end int, ascii bool) {
	var high uint64
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		// The top bit of a byte in ends marks a quote, a backslash or a byte below 0x20. A borrow can set it in higher
		// bytes too; only the lowest marked byte counts.
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

// escape returns the length of the escape sequence whose backslash is at i, or the reason why it is invalid. A surrogate pair
// counts as one sequence; lone reports half of a pair.
func escape(text []byte, i int) (n int, reason string, lone bool) {
	if i+1 == len(text) {
		return 1, "", false // The string has no end; the caller reports that.
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

// plainEscape returns the character that a letter after a backslash means, or 0 if the letter is not a short escape.
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

// unicodeEscape reads the \uXXXX sequence at i, which may be half of a surrogate pair.
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

// unescape returns the characters of a string whose escape sequences are valid.
func unescape(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for yielded := len(s); ; {
		if yielded-len(s) > yieldEvery {
			yielded = len(s)
			runtime.Gosched()
		}
		end, _ := PlainEnd(s, 0)
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

// AppendText is AppendString for bytes, which must be UTF-8.
func AppendText(dst, text []byte) []byte {
	if end, _ := PlainEnd(text, 0); end < len(text) {
		return AppendString(dst, string(text))
	}
	dst = append(dst, '"')
	dst = append(dst, text...)
	return append(dst, '"')
}

// AppendString appends s as a JSON string to dst. It escapes only what RFC 8259 requires. s must be valid UTF-8.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := len(dst)
	dst = append(dst, s...)
	end, _ := PlainEnd(dst, start)
	if end == len(dst) {
		return append(dst, '"')
	}
	s = s[end-start:]
	dst = dst[:end]
	from, yielded := 0, 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		if i-yielded > yieldEvery {
			yielded = i
			runtime.Gosched()
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
