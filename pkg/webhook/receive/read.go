package receive

import (
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
	raw, err := readAll(io.LimitReader(from.Body, limit+1), min(from.ContentLength, limit, firstRead))
	r.Raw = raw
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

// readAll reads until the end. It allocates little more than length first, if that is known. The result is never nil.
func readAll(from io.Reader, length int64) ([]byte, error) {
	const unknown = 512
	if length < 0 {
		length = unknown
	}
	all := make([]byte, 0, length+1) // With room for more, the end is found without growth.
	for {
		n, err := from.Read(all[len(all):cap(all)])
		all = all[:len(all)+n]
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		case len(all) == cap(all):
			all = slices.Grow(all, len(all))
		}
	}
}
