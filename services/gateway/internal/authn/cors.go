package authn

import (
	"net/http"
	"strings"

	"github.com/orch-project/orch/pkg/request"
)

// CORS writes the headers that let configured origins read the response. It returns true for a preflight request, which
// it completes.
func (g *Guard) CORS(w http.ResponseWriter, r *http.Request) bool {
	if len(g.origins) == 0 {
		return false
	}
	header := w.Header()
	header.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !g.allowedOrigin(origin) {
		return false
	}
	if g.origins[strings.ToLower(origin)] {
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Allow-Credentials", "true")
	} else {
		header.Set("Access-Control-Allow-Origin", "*") // Any page may read the response, but none with the user's credentials.
	}
	header.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, ETag, Link, "+request.NextPageTokenHeader+", "+request.CountCappedHeader)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	header.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	// An allowed origin may send any header: clients of several versions name headers of their own, such as X-Prefect-UI.
	if requested := r.Header.Values("Access-Control-Request-Headers"); len(requested) > 0 {
		header.Set("Access-Control-Allow-Headers", strings.Join(requested, ", "))
	}
	header.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
