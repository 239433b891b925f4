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

// mediaType splits a Content-Type into the type, in lower case, and its charset, empty when it names none. It takes what
// senders really send: parameters in any case, quoted or not, malformed ones skipped.
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

// charsetOf is the encoding that a charset names; nil means UTF-8, which an unknown name falls back to.
func charsetOf(name string) encoding.Encoding {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "", "utf-8", "utf8":
		return nil
	case "latin-1", "iso8859_1", "iso_8859_1":
		name = "latin1"
	case "utf16", "utf_16":
		name = "utf-16"
	}
	e, err := htmlindex.Get(name)
	if err != nil || e == unicode.UTF8 {
		return nil
	}
	return e
}

// wide tells whether an encoding does not have ASCII as a part, so that bytes cannot be searched for ASCII signs.
func wide(e encoding.Encoding) bool {
	if e == nil {
		return false
	}
	name, err := htmlindex.Name(e)
	return err == nil && strings.HasPrefix(name, "utf-16")
}

var utf8Mark = []byte("\ufeff")

// decode makes text of bytes. What cannot be decoded becomes U+FFFD; a byte order mark is dropped, and one that
// contradicts the charset wins over it, as in browsers.
func decode(raw []byte, e encoding.Encoding) string {
	var t transform.Transformer
	if e == nil {
		raw = bytes.TrimPrefix(raw, utf8Mark)
		if utf8.Valid(raw) {
			return string(raw)
		}
		t = unicode.UTF8.NewDecoder()
	} else {
		t = unicode.BOMOverride(e.NewDecoder())
	}
	out, _, err := transform.Bytes(t, raw)
	if err != nil { // No decoder of the index fails; whatever it had is better than nothing.
		return strings.ToValidUTF8(string(raw), "\ufffd")
	}
	return string(out)
}
