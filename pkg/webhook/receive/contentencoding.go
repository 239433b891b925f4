package receive

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/orch-project/orch/pkg/admission"
)

// ErrUnsupported is wrapped when the body has a content encoding or a charset that the server cannot decode.
var ErrUnsupported = errors.New("unsupported body")

const (
	// maxContentCodings bounds how often a body may be compressed.
	maxContentCodings = 3
	// maxZstdWindow is the largest window of zstd as a content encoding, in bytes (RFC 9659).
	maxZstdWindow = 8 << 20
)

// decompress replaces a compressed body with its content, to which the limit applies as well. The codings of
// Content-Encoding are undone from the last to the first. The error wraps ErrUnsupported for an unknown coding, ErrBody
// for a body that is not what its coding says; the body then stays as it was sent. It charges memory before it allocates.
func (r *Request) decompress(limit int64, memory *admission.Reservation) error {
	header := r.Get("content-encoding")
	if r.TooLarge || len(r.Raw) == 0 || header == "" {
		return nil
	}
	codings := strings.Split(header, ",")
	if len(codings) > maxContentCodings {
		return fmt.Errorf("%w: Content-Encoding has more than %d codings", ErrUnsupported, maxContentCodings)
	}
	body := r.Raw
	for _, coding := range slices.Backward(codings) {
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding == "" || coding == "identity" {
			continue
		}
		content, err := decodeContent(coding, body, limit, memory)
		if err != nil {
			return err
		}
		if int64(len(content)) > limit {
			r.TooLarge, r.Raw = true, content[:min(limit, Excerpt)]
			return nil
		}
		body = content
	}
	r.Raw = body
	return nil
}

// The memory of decoders in bytes, beside their window.
const (
	inflateMemory = 64 << 10
	decoderMemory = 512 << 10
)

// window returns the memory in bytes that the decoder of a coding takes for a body.
func window(coding string, body []byte) int {
	switch coding {
	case "br":
		return decoderMemory + brotliWindow(body)
	case "zstd":
		var header zstd.Header
		if header.Decode(body) != nil || header.Skippable || header.WindowSize > maxZstdWindow {
			return decoderMemory + maxZstdWindow
		}
		return decoderMemory + 2*int(header.WindowSize)
	}
	return inflateMemory
}

// brotliWindow returns the size of the window that a stream of brotli names in its first byte (RFC 7932, section 9.1).
func brotliWindow(body []byte) int {
	const smallest = 10
	if len(body) == 0 {
		return 1 << smallest
	}
	switch first := body[0]; {
	case first&1 == 0:
		return 1 << 16
	case first>>1&7 != 0:
		return 1 << (17 + first>>1&7)
	case first>>4&7 > 1:
		return 1 << (8 + first>>4&7)
	}
	return 1 << 17
}

// decodeContent undoes one coding. It returns at most one byte more than the limit.
func decodeContent(coding string, body []byte, limit int64, memory *admission.Reservation) ([]byte, error) {
	decoder := window(coding, body)
	if err := memory.Charge(decoder); err != nil {
		return nil, fmt.Errorf("decode %s: %w", coding, err)
	}
	defer memory.Refund(decoder)
	broken := func(err error) error { return fmt.Errorf("%w: decode %s: %w", ErrBody, coding, err) }
	var content io.Reader
	length := int64(len(body))
	switch coding {
	case "gzip", "x-gzip":
		length = admission.GzipLength(body)
		decoder, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, broken(err)
		}
		content = decoder
	case "deflate":
		if !zlibHeader(body) { // Some senders leave out the zlib header that RFC 9110 asks for.
			content = flate.NewReader(bytes.NewReader(body))
			break
		}
		decoder, err := zlib.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, broken(err)
		}
		content = decoder
	case "br":
		content = brotli.NewReader(bytes.NewReader(body))
	case "zstd":
		decoder, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, broken(err)
		}
		defer decoder.Close()
		content = decoder
	default:
		return nil, fmt.Errorf("%w: content encoding %q", ErrUnsupported, coding)
	}
	decoded, err := readAll(io.LimitReader(yielding{content, memory}, limit+1), min(length, limit+1), memory)
	if errors.Is(err, admission.ErrExhausted) {
		return nil, fmt.Errorf("decode %s: %w", coding, err)
	}
	if err != nil && int64(len(decoded)) <= limit {
		return nil, broken(err)
	}
	return decoded, nil
}

// yielding lets small requests run after each part that is decompressed.
type yielding struct {
	io.Reader
	memory *admission.Reservation
}

// Read implements io.Reader.
func (y yielding) Read(p []byte) (int, error) {
	y.memory.Yield()
	return y.Reader.Read(p)
}

// zlibHeader reports whether a body begins with a header of zlib (RFC 1950).
func zlibHeader(body []byte) bool {
	return len(body) >= 2 && body[0]&0x0f == 8 && (int(body[0])<<8|int(body[1]))%31 == 0
}
