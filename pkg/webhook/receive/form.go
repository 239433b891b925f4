package receive

import (
	"bytes"

	"golang.org/x/text/encoding"
)

// Pair is one entry of a form or of a query string: a text, or a file of a multipart form.
type Pair struct {
	Key, Value string
	// File is nil for a text.
	File *File
}

// formPairs collects the entries of a form. A key that is repeated keeps its first place and gets its last value.
type formPairs struct {
	pairs  []Pair
	places map[string]int
}

func (f *formPairs) add(p Pair) {
	if at, repeated := f.places[p.Key]; repeated {
		f.pairs[at] = p
		return
	}
	if f.places == nil {
		f.places = map[string]int{}
	}
	f.places[p.Key] = len(f.pairs)
	f.pairs = append(f.pairs, p)
}

// parseForm reads application/x-www-form-urlencoded: pairs between ampersands, the first equals sign parts key and value,
// blank values are kept, a plus is a blank. Malformed parts are taken literally, semicolons and bad escapes too.
func parseForm(raw []byte, e encoding.Encoding) []Pair {
	if wide(e) {
		raw, e = []byte(decode(raw, e)), nil
	}
	raw = bytes.TrimPrefix(raw, utf8Mark)
	var form formPairs
	for len(raw) > 0 {
		var pair []byte
		pair, raw, _ = bytes.Cut(raw, []byte("&"))
		if len(pair) == 0 {
			continue
		}
		name, text, _ := bytes.Cut(pair, []byte("="))
		form.add(Pair{Key: decode(unescape(name), e), Value: decode(unescape(text), e)})
	}
	return form.pairs
}

// unescape decodes %xx and plus signs; a malformed escape stays.
func unescape(s []byte) []byte {
	if bytes.IndexByte(s, '%') < 0 && bytes.IndexByte(s, '+') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			out = append(out, ' ')
		case s[i] == '%' && i+2 < len(s) && hex(s[i+1]) >= 0 && hex(s[i+2]) >= 0:
			out = append(out, byte(hex(s[i+1])<<4|hex(s[i+2])))
			i += 2
		default:
			out = append(out, s[i])
		}
	}
	return out
}

// hex is the value of a hexadecimal digit, -1 when it is none.
func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// ParseQuery reads a query string by the same rules as a form.
func ParseQuery(query string) []Pair { return parseForm([]byte(query), nil) }
