package transcode

import (
	"context"
	"io"
	"net/http"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// cursorField is the request field with the position of the next part.
const cursorField = "cursor"

// part is the first part of a response in several parts.
type part struct {
	status      int
	contentType string
	body        []byte
	next        string
}

// stream writes a response whose handler returns one part per call. It requests a part after it has written the
// previous one, so a slow client holds one part in memory. A later failure aborts the connection, so no client mistakes
// a truncated response for a complete one.
func (t *Transcoder) stream(ctx context.Context, w http.ResponseWriter, r *http.Request, op *Operation, request protoreflect.Message, first part) {
	cursor := request.Descriptor().Fields().ByName(cursorField)
	if cursor == nil {
		t.opts.Log.ErrorContext(ctx, "a streaming handler's request has no cursor field", "method", op.RPC)
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
			_ = z.Close() // The client has disconnected.
			compressors.Put(z)
		}
	}
	w.WriteHeader(first.status)
	body, next := first.body, first.next
	for {
		if _, err := to.Write(body); err != nil {
			return // The client has disconnected.
		}
		if next == "" {
			end()
			return
		}
		request.Set(cursor, protoreflect.ValueOfString(next))
		response, reply, err := t.opts.Caller(op.RPC).Call(ctx, op.RPC, request.Interface())
		if err == nil {
			body, _, err = op.appendAnswer(body[:0], first.status, response, op.omission(r))
		}
		if err != nil {
			t.opts.Log.ErrorContext(ctx, "failed to complete a streamed response; aborted it", "method", op.RPC, "error", err)
			panic(http.ErrAbortHandler)
		}
		next = reply.Next
	}
}
