package receive

import (
	"net/http"
	"slices"
)

// Methods that a webhook takes, as they are listed in Allow.
const allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

var (
	withBody    = []string{http.MethodPost, http.MethodPut, http.MethodPatch}
	withoutBody = []string{http.MethodGet, http.MethodHead, http.MethodDelete}
)

// Allowed tells whether a webhook takes requests like this one; when not, the second value belongs into Allow. OPTIONS
// is a method of webhooks only as the handshake that senders of CloudEvents make.
func Allowed(r *http.Request) (bool, string) {
	ok := slices.Contains(withBody, r.Method) || slices.Contains(withoutBody, r.Method) ||
		r.Method == http.MethodOptions && r.Header.Get(headerRequestOrigin) != ""
	return ok, allowed
}
