package transcode

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// minCompressed is the size in bytes above which responses are compressed. Smaller ones, such as a run, are a few packets that travel
// together, and compressing one costs an eighth of the processor time of its request.
const minCompressed = 4 << 10

var compressors = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // The level is valid.
	return w
}}

// writeBody writes a response body, compressed if the client accepts it and it pays off.
func writeBody(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	if len(body) > minCompressed && header.Get("Content-Encoding") == "" {
		header.Add("Vary", "Accept-Encoding")
		if AcceptsGzip(r.Header) {
			small := buffers.Get().(*bytes.Buffer)
			defer release(small)
			z := compressors.Get().(*gzip.Writer)
			z.Reset(small)
			_, _ = z.Write(body) // A buffer accepts every write.
			_ = z.Close()
			compressors.Put(z)
			header.Set("Content-Encoding", "gzip")
			body = small.Bytes()
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // An error means that the client has disconnected.
}

// WriteBody writes a body that is no answer of the API, such as a page, compressed like those.
func WriteBody(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	writeBody(w, r, status, contentType, body)
}

// AcceptsGzip reports whether a client accepts gzip.
func AcceptsGzip(header http.Header) bool {
	for _, line := range header.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(line, ",") {
			coding, params, _ := strings.Cut(item, ";")
			coding = strings.TrimSpace(coding)
			if !strings.EqualFold(coding, "gzip") && coding != "*" {
				continue
			}
			name, weight, found := strings.Cut(strings.TrimSpace(params), "=")
			if !found || strings.TrimSpace(name) != "q" {
				return true
			}
			q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
			return err != nil || q > 0
		}
	}
	return false
}
