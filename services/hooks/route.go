package hooks

import (
	"net/http"
	"strings"
	"time"
)

// routes makes the handler. Paths are matched as they were sent: a cleaned one would be answered with a redirect that
// repeats the slug.
func (h *Hooks) routes() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		slug, rest := parsePath(r.URL.Path)
		h.serve(w, r, slug, rest)
	})
}

// parsePath parts /hooks/{slug} and what is behind it, which is the template's: senders that know an address as a base
// append to it. Of any other path the slug is empty, which no webhook has: it is answered like any other that there is not.
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

// serve answers a request and counts the answer.
func (h *Hooks) serve(w http.ResponseWriter, r *http.Request, slug, rest string) {
	start := time.Now()
	d := &delivery{Hooks: h, w: w, r: r, slug: slug, rest: rest}
	status := d.run()
	h.finish(r, d, status, time.Since(start))
	if status == http.StatusRequestEntityTooLarge {
		d.linger()
	}
}
