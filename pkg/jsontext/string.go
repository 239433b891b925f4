package jsontext

import (
	"encoding/binary"
	"math/bits"
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

// String gives the end of the string whose opening quote is at i, behind its closing quote; plain tells that it has no
// escapes, so that its characters are text[i+1:end-1]. Halves of surrogate pairs are taken as they are.
func String(text []byte, i int) (end int, plain, ok bool) {
	start := i + 1
	end, ascii := Run(text, start)
	plain = true
	for end < len(text) {
		switch text[end] {
		case '"':
			return end + 1, plain, ascii || utf8.Valid(text[start:end])
		case '\\':
			plain = false
			if end = escape(text, end+1); end < 0 {
				return i, false, false
			}
		default:
			return i, false, false
		}
		var more bool
		end, more = Run(text, end)
		ascii = ascii && more
	}
	return i, false, false
}

// escape gives the end of the escape whose letter is at i, and -1 when it is none.
func escape(text []byte, i int) int {
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if i+5 > len(text) {
			return -1
		}
		for _, c := range text[i+1 : i+5] {
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return -1
			}
		}
		return i + 5
	}
	return -1
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
