package receive

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// mediaType splits a Content-Type into the type, in lower case, and its charset, empty when there is none. It accepts what
// senders really send: parameters in any case, quoted or not. Malformed parameters are skipped.
func mediaType(contentType string) (media, charset string) {
	media, parameters, _ := strings.Cut(contentType, ";")
	for parameters != "" {
		var p string
		p, parameters, _ = strings.Cut(parameters, ";")
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "charset") && charset == "" {
			charset = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return strings.ToLower(strings.TrimSpace(media)), charset
}

// charsetOf returns the encoding of a charset; nil means UTF-8, which replaces an unknown charset.
func charsetOf(name string) encoding.Encoding {
	e, _ := lookUpCharset(name)
	return e
}

// lookUpCharset returns the encoding of a charset; nil means UTF-8.
func lookUpCharset(name string) (e encoding.Encoding, ok bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "", "utf-8", "utf8":
		return nil, true
	case "latin-1", "iso8859_1", "iso_8859_1":
		name = "latin1"
	case "utf16", "utf_16":
		name = "utf-16"
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil, false
	}
	if e == unicode.UTF8 {
		return nil, true
	}
	return e, true
}

// wide reports whether an encoding does not contain ASCII, so its bytes cannot be searched for ASCII characters.
func wide(e encoding.Encoding) bool {
	if e == nil {
		return false
	}
	name, err := htmlindex.Name(e)
	return err == nil && strings.HasPrefix(name, "utf-16")
}

var utf8Mark = []byte("\ufeff")

// maxDecoded bounds the length of decoded text in multiples of its bytes: a byte may become U+FFFD, whose UTF-8 has three.
const maxDecoded = 3

// decodes reports whether decodeBytes changes bytes.
func decodes(raw []byte, e encoding.Encoding) bool {
	return e != nil || bytes.HasPrefix(raw, utf8Mark) || !utf8.Valid(raw)
}

// decode decodes bytes to text as decodeBytes does.
func decode(raw []byte, e encoding.Encoding) string { return string(decodeBytes(raw, e)) }

// decodeBytes decodes bytes to UTF-8; the result may share their memory. Undecodable bytes become U+FFFD. A byte order mark is
// dropped; one that contradicts the charset wins, as in browsers.
func decodeBytes(raw []byte, e encoding.Encoding) []byte {
	var t transform.Transformer
	if e == nil {
		raw = bytes.TrimPrefix(raw, utf8Mark)
		if utf8.Valid(raw) {
			return raw
		}
		t = unicode.UTF8.NewDecoder()
	} else {
		t = unicode.BOMOverride(e.NewDecoder())
	}
	out, _, err := transform.Bytes(t, raw)
	if err != nil { // No decoder of the index fails.
		return bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	return out
}
