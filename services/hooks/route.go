package hooks

import (
	"net/http"
	"time"

	"github.com/gorilla/mux"
)

// routes makes the handler. Paths are matched as they were sent: a cleaned one would be answered with a redirect that
// repeats the slug.
func (h *Hooks) routes() http.Handler {
	router := mux.NewRouter().SkipClean(true)
	router.HandleFunc("/hooks/{slug}{rest:/?}", func(w http.ResponseWriter, r *http.Request) {
		vars := mux.Vars(r)
		h.serve(w, r, vars["slug"], vars["rest"])
	})
	router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.serve(w, r, "", "") // No webhook has this slug: answered like any other that there is not.
	})
	return router
}

// serve answers a request and counts the answer.
func (h *Hooks) serve(w http.ResponseWriter, r *http.Request, slug, rest string) {
	start := time.Now()
	d := &delivery{Hooks: h, w: w, r: r, slug: slug, rest: rest}
	status := d.run()
	h.finish(r, d, status, time.Since(start))
}
