package rpc

import "context"

// Encoded is a response body that a handler of the same process may write itself, instead of a message. A handler that reads
// stored documents can encode them without decoding them first.
type Encoded struct {
	method string
	// Body has the encoded response after a call that wrote it. Before the call it is the buffer to append to, of length 0.
	Body []byte
	// Written reports that Body replaces the response.
	Written bool
}

type encodedKey struct{}

// WithEncoded offers a handler to encode the response of a method. A handler of another process never sees the offer.
func WithEncoded(ctx context.Context, method string, buffer []byte) (context.Context, *Encoded) {
	e := &Encoded{method: method, Body: buffer}
	return context.WithValue(ctx, encodedKey{}, e), e
}

// EncodedResponse returns the offer to encode the response of a method, or nil. The offer for one method is none to the methods
// that its handler calls.
func EncodedResponse(ctx context.Context, method string) *Encoded {
	e, _ := ctx.Value(encodedKey{}).(*Encoded)
	if e == nil || e.method != method {
		return nil
	}
	return e
}

// Write sets the response.
func (e *Encoded) Write(body []byte) { e.Body, e.Written = body, true }
