package transcode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/processors"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxPooled is the maximum size in bytes of a buffer that returns to the pool.
const maxPooled = 1 << 20

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func release(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		b.Reset()
		buffers.Put(b)
	}
}

// largeBody is the size in bytes beyond which the requests of one workspace share a bound. Milliseconds of a processor pass until such a
// body is decoded and stored.
const largeBody = 16 << 10

// LargeBodies are the bounds of a workspace's requests with large bodies: they leave half of the processors to the others.
func LargeBodies() admission.Bounds {
	return admission.Bounds{PerKey: processors.Half(), Queue: 512, Wait: 5 * time.Second}
}

// valueMemory is what a value of a body takes once it is decoded, in bytes.
const valueMemory = 64

// readBody reads at most limit bytes as they are sent, and charges memory for them. Its errors are responses.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, into *bytes.Buffer, memory *admission.Reservation) (compressed bool, err error) {
	if r.ContentLength > limit {
		return false, tooLarge()
	}
	switch strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))) {
	case "", "identity":
	case "gzip", "x-gzip":
		compressed = true
	default:
		return false, rpc.Error(&orchv1.HttpError{
			Status:  http.StatusUnsupportedMediaType,
			Form:    &orchv1.HttpError_Detail{Detail: "Unsupported content encoding: only gzip is understood."},
			Headers: map[string]string{"Accept-Encoding": "gzip"},
		})
	}
	if r.ContentLength > 0 {
		length := int(r.ContentLength) + bytes.MinRead
		if memory.Charge(length) != nil {
			return false, overloaded()
		}
		into.Grow(length)
	}
	var from io.Reader = http.MaxBytesReader(w, r.Body, limit)
	if r.ContentLength < 0 {
		from = chargedReader{from, memory}
	}
	if _, err := into.ReadFrom(from); err != nil {
		return false, readError(err)
	}
	return compressed && into.Len() > 0, nil
}

// unpack decompresses a body that has arrived, at most to limit bytes, and bounds the values that it decodes to. It charges memory for
// both. Its errors are responses.
func unpack(into *bytes.Buffer, compressed bool, limit int64, memory *admission.Reservation) error {
	if compressed {
		if err := inflate(into, limit, memory); err != nil {
			return err
		}
	}
	if int64(into.Len()) > limit {
		return tooLarge()
	}
	values, ok := jsontoken.CountValues(into.Bytes(), jsontoken.MaxValues)
	if !ok {
		return tooManyValues()
	}
	if memory.Charge(into.Len()+valueMemory*values) != nil {
		return overloaded()
	}
	return nil
}

// inflate replaces the content of a buffer, which has arrived completely, by the decompressed one.
func inflate(body *bytes.Buffer, limit int64, memory *admission.Reservation) error {
	sent := buffers.Get().(*bytes.Buffer)
	defer release(sent)
	*sent, *body = *body, *sent
	length := int(min(limit+1, admission.GzipLength(sent.Bytes()))) + bytes.MinRead
	inflated, err := gzip.NewReader(sent)
	if err != nil {
		return readError(err)
	}
	defer func() { _ = inflated.Close() }() // Close returns the errors of Read.
	if length > body.Cap() {
		if memory.Charge(length) != nil {
			return overloaded()
		}
		defer memory.Refund(length) // The reader charges for what the body says, this for what its end says.
		*body = *bytes.NewBuffer(make([]byte, 0, length))
	}
	if _, err := body.ReadFrom(io.LimitReader(chargedReader{inflated, memory}, limit+1)); err != nil {
		return readError(err)
	}
	return nil
}

// chargedReader charges for what a buffer that doubles holds of it.
type chargedReader struct {
	io.Reader
	memory *admission.Reservation
}

// Read implements io.Reader.
func (r chargedReader) Read(p []byte) (int, error) {
	r.memory.Yield()
	n, err := r.Reader.Read(p)
	if full := r.memory.Charge(2 * n); full != nil {
		return n, full
	}
	return n, err
}

func readError(err error) error {
	if errors.Is(err, admission.ErrExhausted) {
		return overloaded()
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge()
	}
	return rpc.Detail(http.StatusBadRequest, "There was an error parsing the body")
}

// overloaded is the response while the account's or the process's memory for bodies is in use.
func overloaded() error {
	return rpc.Error(&orchv1.HttpError{
		Status:  http.StatusServiceUnavailable,
		Form:    &orchv1.HttpError_Detail{Detail: "The server reads as many request bodies as it has memory for."},
		Headers: map[string]string{"Retry-After": "1"},
	})
}

// busy is the response while too many large bodies of the workspace are served.
func busy() error {
	return rpc.Error(&orchv1.HttpError{
		Status:  http.StatusTooManyRequests,
		Form:    &orchv1.HttpError_Detail{Detail: "Too many requests of the workspace with large bodies are in progress."},
		Headers: map[string]string{"Retry-After": "1"},
	})
}

func tooManyValues() error {
	return rpc.Detail(http.StatusRequestEntityTooLarge, fmt.Sprintf("Request body has more than %d values", jsontoken.MaxValues))
}

func tooLarge() error {
	return rpc.Error(&orchv1.HttpError{
		Status:  http.StatusRequestEntityTooLarge,
		Form:    &orchv1.HttpError_Detail{Detail: "Request body too large"},
		Headers: map[string]string{"Connection": "close"},
	})
}

// decodeBody decodes the body into its field. It returns the request's field errors; its error reports an internal
// failure.
func (op *Operation) decodeBody(m protoreflect.Message, contentType string, body []byte) ([]*orchv1.FieldError, error) {
	json := op.rawBody || len(body) == 0 || isJSON(contentType)
	if !json && op.textBody {
		if !utf8.Valid(body) {
			return []*orchv1.FieldError{rpc.BodyError("string_unicode", "Input should be a valid string, unable to parse raw data as a unicode string")}, nil
		}
		m.Set(op.body, protoreflect.ValueOfString(string(body)))
		return nil, nil
	}
	if !json {
		return []*orchv1.FieldError{rpc.BodyError("model_attributes_type",
			"Input should be a valid dictionary or object to extract fields from")}, nil
	}
	var opts []restjson.DecodeOption
	if op.optionalBody {
		opts = append(opts, restjson.WithOptionalBody())
	}
	if err := restjson.UnmarshalField(body, m, op.body, opts...); err != nil {
		if list := restjson.AsErrors(err); list != nil {
			return list.List, nil //nolint:nilerr // The field errors are the response, not a failure of the server.
		}
		return nil, err
	}
	if op.rawBody {
		raw := m.Mutable(op.body).Message()
		raw.Set(raw.Descriptor().Fields().ByName("content_type"),
			protoreflect.ValueOfString(strings.ToValidUTF8(contentType, "")))
	}
	return nil, nil
}

// isJSON reports whether a content type is JSON. A missing content type counts as JSON.
func isJSON(contentType string) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	if mediaType == "" {
		return strings.TrimSpace(contentType) == ""
	}
	subtype, found := strings.CutPrefix(mediaType, "application/")
	return found && (subtype == "json" || strings.HasSuffix(subtype, "+json"))
}
