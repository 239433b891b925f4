package receive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// ErrBody is wrapped when the body of a request cannot be read: it is incomplete, or contradicts its header.
var ErrBody = errors.New("read body")

// Excerpt is the length in bytes of the shown part of a body that cannot be shown completely.
const Excerpt = 64 << 10

// firstRead bounds the allocation for Content-Length. Further memory is allocated as the body arrives.
const firstRead = 16 << 10

// ReadBody reads the body into r and undoes its content encoding. A body that exceeds the limit, as it was sent or decoded,
// is read only as far as an excerpt needs, and r.TooLarge is set; that is no error. Errors wrap ErrBody or ErrUnsupported.
// After an error r.Raw holds the bytes that had arrived.
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
		r.Raw = []byte{} // An empty body, as opposed to none.
	}
	if int64(len(r.Raw)) > limit {
		r.TooLarge = true
		r.Raw = r.Raw[:limit]
	}
	if err != nil && !r.TooLarge {
		return fmt.Errorf("%w: %w", ErrBody, err)
	}
	r.Wire = r.Raw
	if err := r.decompress(limit); err != nil {
		return err
	}
	return r.checkCharset()
}
