package receive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/jsontoken"
)

var (
	// ErrBody is wrapped when the body of a request cannot be read: it is incomplete, or contradicts its header.
	ErrBody = errors.New("read body")
	// ErrTooManyValues is wrapped when a body holds more than MaxValues.
	ErrTooManyValues = errors.New("the body has too many values")
)

// MaxValues is the maximum number of values of a JSON body, and of fields of a form.
const MaxValues = 100_000

// Excerpt is the length in bytes of the shown part of a body that cannot be shown completely.
const Excerpt = 64 << 10

// firstRead bounds the allocation for Content-Length. Further memory is allocated as the body arrives.
const firstRead = 16 << 10

// ReadBody reads the body into r and undoes its content encoding. It charges memory, which may be nil, before each allocation. It
// builds nothing from the body. A large or compressed body acquires a processor, which memory releases. A body that exceeds the limit,
// as it was sent or decoded, is read only as far as an excerpt needs. Then r.TooLarge is set, and the error is nil. Errors wrap ErrBody, ErrUnsupported, ErrTooManyValues or admission.ErrExhausted. After
// an error r.Raw holds the bytes that had arrived.
func (r *Request) ReadBody(from *http.Request, limit int64, memory *admission.Reservation) error {
	if !slices.Contains(withBody, from.Method) || from.Body == nil {
		return nil
	}
	if from.ContentLength > limit {
		r.TooLarge = true
		limit = min(limit, Excerpt)
	}
	raw, err := readAll(io.LimitReader(from.Body, limit+1), min(from.ContentLength, limit, firstRead), memory)
	r.Raw = raw
	if int64(len(r.Raw)) > limit {
		r.TooLarge = true
		r.Raw = r.Raw[:limit]
	}
	switch {
	case errors.Is(err, admission.ErrExhausted):
		return fmt.Errorf("read body: %w", err)
	case err != nil && !r.TooLarge:
		return fmt.Errorf("%w: %w", ErrBody, err)
	}
	size := len(r.Raw)
	if r.Get("content-encoding") != "" {
		size = int(limit) // Until it is decompressed, any size is possible.
	}
	if size > admission.LargeBody {
		if err := memory.AcquireProcessor(from.Context(), size); err != nil {
			return fmt.Errorf("read body: %w", err)
		}
	}
	r.Wire = r.Raw
	if err := r.decompress(limit, memory); err != nil {
		return err
	}
	return r.checkContent(memory)
}

// checkContent checks the charset of the body and counts its values.
func (r *Request) checkContent(memory *admission.Reservation) error {
	if r.TooLarge || len(r.Raw) == 0 {
		return nil
	}
	media, charset := mediaType(r.Get("content-type"))
	e, supported := lookUpCharset(charset)
	if !supported {
		return fmt.Errorf("%w: charset %q", ErrUnsupported, charset)
	}
	text := r.Raw
	if decodes(text, e) {
		decoded := maxDecoded * len(text)
		if err := memory.Charge(decoded); err != nil {
			return fmt.Errorf("read body: %w", err)
		}
		defer memory.Refund(decoded) // Body decodes again, for Parsed.
		text = decodeBytes(text, e)
		if charset != "" && !wide(e) && bytes.ContainsRune(text, utf8.RuneError) {
			return fmt.Errorf("%w: the bytes are not %s", ErrBody, charset)
		}
	}
	values, ok := countValues(media, text)
	if !ok {
		return fmt.Errorf("%w: at most %d are accepted", ErrTooManyValues, MaxValues)
	}
	r.tree, r.parsed = admission.Tree(len(text), values), admission.Parsed(len(text), values)
	return nil
}

// countValues returns an upper bound of what a parser builds from a body, and whether that is within MaxValues.
func countValues(media string, text []byte) (n int, ok bool) {
	switch media {
	case mediaForm:
		n = 1 + bytes.Count(text, []byte{'&'})
		return n, n <= MaxValues
	case mediaMultipart:
		return maxParts, true
	}
	return jsontoken.CountValues(text, MaxValues)
}

// Parsed returns the memory in bytes that parsing and rendering the body takes, beside what a template renders.
func (r *Request) Parsed() int { return r.parsed }

// Tree returns the memory in bytes of the body as a template sees it.
func (r *Request) Tree() int { return r.tree }

// readAll reads until the end and charges for the buffer before it grows. It allocates little more than length first, if that is
// known. The result is never nil.
func readAll(from io.Reader, length int64, memory *admission.Reservation) ([]byte, error) {
	const unknown = 512
	if length < 0 {
		length = unknown
	}
	if err := memory.Charge(int(length) + 1); err != nil {
		return []byte{}, err
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
			if err := memory.Charge(len(all)); err != nil {
				return all, err
			}
			all = slices.Grow(all, len(all))
		}
	}
}
