package hooks

import (
	"net/http"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/tracing"
)

// routes returns the handler. It matches paths as they were sent: cleaning one would cause a redirect that exposes the
// slug.
func (h *Hooks) routes() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		slug, rest := parsePath(r.URL.Path)
		h.serve(w, r, slug, rest)
	})
}

// parsePath splits a path into /hooks/{slug} and the rest, which templates see: some senders append to the address. Any other
// path has an empty slug, which gets the same 404 as an unknown slug.
func parsePath(path string) (slug, rest string) {
	slug, _ = strings.CutPrefix(path, "/hooks/")
	if slug == path {
		return "", ""
	}
	if at := strings.IndexByte(slug, '/'); at >= 0 {
		slug, rest = slug[:at], slug[at:]
	}
	return slug, rest
}

// serve processes a request and counts the response.
func (h *Hooks) serve(w http.ResponseWriter, r *http.Request, slug, rest string) {
	start := time.Now()
	ctx, span := h.tracer.Serve(r.Context(), "request", tracing.FromHeader(r.Header))
	if span.IsRecording() {
		r = r.WithContext(ctx)
	}
	d := &delivery{Hooks: h, r: r, slug: slug, rest: rest}
	end := d.run()
	entry := d.logEntry(end, time.Since(start))
	if entry != nil && h.listeners.Has(d.hook) { // A listener receives every delivery that its sender was answered.
		h.recorder.Commit(*entry)
		entry = nil
	}
	end.respond(w)
	if entry != nil {
		h.recorder.Record(*entry)
	}
	h.measure(d, end, time.Since(start))
	tracing.EndRequest(span, r.Method, "/hooks/{slug}", end.status)
	if end.status == http.StatusRequestEntityTooLarge {
		lingeringClose(w, r)
	}
}
