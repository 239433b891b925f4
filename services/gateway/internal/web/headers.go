package web

import (
	"net/http"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
)

// policy restricts a page to resources of this server, and scripts to the one policy that makes markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types orch"

// protect sets the security headers of a page, beside those that the gateway sets on every response.
func protect(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// readOnly responds with 405 unless the method is GET or HEAD. It reports whether the request may continue.
func readOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	transcode.WriteError(w, &orchv1.HttpError{
		Status: http.StatusMethodNotAllowed,
		Form:   &orchv1.HttpError_Detail{Detail: "Method Not Allowed"},
	})
	return false
}

// fragmentType is the media type of the content of <main> alone. Scripts ask for it and replace parts of the page.
const fragmentType = "text/html;fragment=main"

func wantsFragment(r *http.Request) bool { return r.Header.Get("Accept") == fragmentType }

// browser reports whether a client asks for HTML. Others get errors as JSON.
func browser(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}
