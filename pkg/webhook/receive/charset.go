package receive

import (
	"bytes"
	"fmt"
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

// checkCharset reports a body that the charset of its Content-Type cannot decode: ErrUnsupported for an unknown charset,
// ErrBody for bytes outside of it. A body without a charset is read as UTF-8, whatever its bytes are.
func (r *Request) checkCharset() error {
	_, charset := mediaType(r.Get("content-type"))
	if charset == "" || len(r.Raw) == 0 || r.TooLarge {
		return nil
	}
	e, known := lookUpCharset(charset)
	switch {
	case !known:
		return fmt.Errorf("%w: charset %q", ErrUnsupported, charset)
	case e == nil && !utf8.Valid(r.Raw), e != nil && !wide(e) && strings.ContainsRune(decode(r.Raw, e), utf8.RuneError):
		return fmt.Errorf("%w: the bytes are not %s", ErrBody, charset)
	}
	return nil
}

// charsetOf returns the encoding of a charset; nil means UTF-8, which replaces an unknown charset.
func charsetOf(name string) encoding.Encoding {
	e, _ := lookUpCharset(name)
	return e
}

// lookUpCharset returns the encoding of a charset; nil means UTF-8.
func lookUpCharset(name string) (e encoding.Encoding, known bool) {
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

// decode decodes bytes to text. Undecodable bytes become U+FFFD. A byte order mark is dropped; one that contradicts the
// charset wins, as in browsers.
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
	if err != nil { // No decoder of the index fails.
		return strings.ToValidUTF8(string(raw), "\ufffd")
	}
	return string(out)
}
