package receive

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
)

// inflate replaces a compressed body by what it holds, which the limit applies to as well. A body that is not what
// Content-Encoding says stays as it is: the template may still know what to do with it.
func (r *Request) inflate(limit int64) error {
	if r.TooLarge || len(r.Raw) == 0 {
		return nil
	}
	switch strings.ToLower(strings.TrimSpace(r.Get("content-encoding"))) {
	case "gzip", "x-gzip":
	default:
		return nil
	}
	compressed, err := gzip.NewReader(bytes.NewReader(r.Raw))
	if err != nil {
		return nil //nolint:nilerr // See above.
	}
	plain, err := io.ReadAll(io.LimitReader(compressed, limit+1))
	switch {
	case int64(len(plain)) > limit:
		r.TooLarge, r.Raw = true, plain[:min(limit, Excerpt)]
	case err == nil:
		r.Raw = plain
	}
	return nil
}
