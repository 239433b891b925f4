package page

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
)

// Server is what a page knows of the server.
type Server struct {
	Version    string
	Vocabulary vocabulary.Vocabulary
	// Root, API and Hooks are addresses as the reader sees them, without trailing slash. API includes the workspace.
	Root, API, Hooks string
	// Metrics is the address of the metrics, empty when unknown.
	Metrics string
	// Credential is what the server requires: "" (nothing), "password" or "key".
	Credential string
}

// Request is a request for a page.
type Request struct {
	// Client makes the page's calls.
	*apicall.Client
	// Params are the query parameters.
	*param.Reader
	HTTP *http.Request
	// Vars are the variables of the pattern.
	Vars map[string]string
	// Form holds the fields of a POST.
	Form url.Values
	// Base prefixes all links: the path of the public URL and the workspace.
	Base string
	// FormToken is the value of the field session.FormField in every form.
	FormToken string
	Server    Server
	// Now is the time of the request and Zone the zone of all times on the page.
	Now  time.Time
	Zone *time.Location

	// Forward serves a GET of the API, with the authorization of the reader.
	Forward func(w http.ResponseWriter, to *url.URL) error
	// Write responds with a body, compressed if the client accepts it.
	Write func(w http.ResponseWriter, contentType string, body []byte)
	// Fragment reports that a script replaces parts of the page that it shows. Pages may leave out the other parts.
	Fragment bool
	// Allowed reports whether the reader holds the scope of an rpc.
	Allowed func(rpc string) bool
	// Name is the reader's name, empty without authentication.
	Name string
	// Account and Workspace are the UUIDs of those that the page shows.
	Account, Workspace string
	// Prefix is the path of the public URL, the prefix of links to other workspaces.
	Prefix string
	// Sessions are the signed-in browsers of the reader, the latest first; EndSession signs one of them out.
	Sessions   func() []Session
	EndSession func(id string) error
}

// Session is a signed-in browser of the reader.
type Session struct {
	ID, Agent, Address string
	Opened, Used       time.Time
	// Current reports the session of this request.
	Current bool
}

// May reports whether the reader may call all the rpcs.
func (r *Request) May(rpcs ...string) bool {
	for _, rpc := range rpcs {
		if !r.Allowed(rpc) {
			return false
		}
	}
	return true
}

// To returns a link to a path of the dashboard. The segments are escaped.
func (r *Request) To(segments ...string) string {
	var b strings.Builder
	b.WriteString(r.Base)
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	if len(segments) == 0 {
		b.WriteString("/")
	}
	return b.String()
}

// WaitParameter asks for the complete page, however long its parts take. A page with a slow part links to it.
const WaitParameter = "wait"

// ReadTimeout is the time that each part of the page may take.
func (r *Request) ReadTimeout() time.Duration {
	if r.HTTP.URL.Query().Has(WaitParameter) {
		return apicall.LongReadTimeout
	}
	return apicall.ReadTimeout
}

// Complete returns the link to the complete page, empty unless a part took too long.
func (r *Request) Complete() string {
	if r.HTTP.Method == http.MethodPost || r.HTTP.URL.Query().Has(WaitParameter) || !r.Slow() {
		return ""
	}
	query := r.HTTP.URL.Query()
	query.Set(WaitParameter, "yes")
	return r.withQuery(query)
}

// Here returns a link to this page with changed query parameters, given as name and value. An empty value removes the
// parameter. The position in a list and notices are removed in any case.
func (r *Request) Here(changes ...string) string {
	query := r.HTTP.URL.Query()
	for _, name := range []string{"older", "did", "count", WaitParameter} {
		query.Del(name)
	}
	for i := 0; i+1 < len(changes); i += 2 {
		query.Del(changes[i])
		if changes[i+1] != "" {
			query.Set(changes[i], changes[i+1])
		}
	}
	return r.withQuery(query)
}

func (r *Request) withQuery(query url.Values) string {
	here := r.Path()
	if len(query) > 0 {
		here += "?" + query.Encode()
	}
	return here
}

// Path returns the path of this page.
func (r *Request) Path() string { return r.Base + r.HTTP.URL.EscapedPath() }

// Done returns the redirect after an action: the path, and the notice that the action's Done words.
func (r *Request) Done(path, action string, count int) View {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	path += separator + "did=" + url.QueryEscape(action)
	if count >= 0 {
		path += "&count=" + strconv.Itoa(count)
	}
	return View{Redirect: path}
}

// Field returns a form field without surrounding blanks.
func (r *Request) Field(name string) string { return strings.TrimSpace(r.Form.Get(name)) }

// NotFound reports that the page's subject does not exist.
type NotFound struct {
	// The kind of the subject, such as "flow run".
	What string
}

// Error implements error.
func (e *NotFound) Error() string { return "no such " + e.What }
