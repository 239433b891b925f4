package transcode

import (
	"context"
	"io"
	"net/http"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// cursorField is the field of a request that says where a part of the answer begins.
const cursorField = "cursor"

// part is the first part of an answer that comes in several.
type part struct {
	status      int
	contentType string
	body        []byte
	next        string
}

// stream answers with a body that its handler gives in parts, each of which is asked for when the one before is
// written: a slow client keeps no more than one of them in memory. What goes wrong after the first part can only break
// the connection off, so that nobody takes a beginning for the whole.
func (t *Transcoder) stream(ctx context.Context, w http.ResponseWriter, r *http.Request, op *Operation, request protoreflect.Message, first part) {
	cursor := request.Descriptor().Fields().ByName(cursorField)
	if cursor == nil {
		t.opts.Log.ErrorContext(ctx, "a handler answers in parts and its request has no cursor", "method", op.RPC)
		panic(http.ErrAbortHandler)
	}
	header := w.Header()
	header.Set("Content-Type", first.contentType)
	header.Add("Vary", "Accept-Encoding")
	to, end := io.Writer(w), func() {}
	if AcceptsGzip(r.Header) {
		header.Set("Content-Encoding", "gzip")
		z := compressors.Get().(*gzip.Writer)
		z.Reset(w)
		to, end = z, func() {
			_ = z.Close() // The client has gone.
			compressors.Put(z)
		}
	}
	w.WriteHeader(first.status)
	body, next := first.body, first.next
	for {
		if _, err := to.Write(body); err != nil {
			return // The client has gone.
		}
		if next == "" {
			end()
			return
		}
		request.Set(cursor, protoreflect.ValueOfString(next))
		response, reply, err := t.opts.Caller(op.RPC).Call(ctx, op.RPC, request.Interface())
		if err == nil {
			body, _, err = op.appendAnswer(body[:0], first.status, response)
		}
		if err != nil {
			t.opts.Log.ErrorContext(ctx, "an answer was broken off", "method", op.RPC, "error", err)
			panic(http.ErrAbortHandler)
		}
		next = reply.Next
	}
}
