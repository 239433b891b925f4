package receive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// ErrBody is wrapped when the body of a request could not be read to its end.
var ErrBody = errors.New("the body could not be read")

// Excerpt is how much of a body is shown when it cannot be shown whole, in bytes.
const Excerpt = 64 << 10

// firstRead bounds, in bytes, what is allocated on the word of Content-Length alone: a body takes memory as it arrives.
const firstRead = 16 << 10

// ReadBody reads the body into r. A body that exceeds the limit is not read further than an excerpt needs, and r.TooLarge
// is set; that is no error. After an error r.Raw holds what had arrived.
func (r *Request) ReadBody(from *http.Request, limit int64) error {
	if !slices.Contains(withBody, from.Method) || from.Body == nil {
		return nil
	}
	if from.ContentLength > limit {
		r.TooLarge = true
		limit = min(limit, Excerpt)
	}
	var buffer bytes.Buffer
	if n := from.ContentLength; n > 0 {
		buffer.Grow(int(min(n, limit, firstRead)) + bytes.MinRead)
	}
	_, err := buffer.ReadFrom(io.LimitReader(from.Body, limit+1))
	if r.Raw = buffer.Bytes(); r.Raw == nil {
		r.Raw = []byte{} // There is a body, an empty one.
	}
	if int64(len(r.Raw)) > limit {
		r.TooLarge = true
		r.Raw = r.Raw[:limit]
	}
	if err != nil && !r.TooLarge {
		return fmt.Errorf("%w: %w", ErrBody, err)
	}
	r.Wire = r.Raw
	return r.inflate(limit)
}
