// Package requestlog assigns an id to every gateway request, logs and measures it, and recovers panics.
//
// Logs and metrics carry the template of the route, never the path, which may contain a webhook's secret.
package requestlog

import (
	"net/http"
)

// record is the ResponseWriter that handlers receive. It collects what the log line needs.
type record struct {
	http.ResponseWriter
	id     string
	route  string
	status int
	bytes  int64
	// upgraded is called when the connection switches to another protocol.
	upgraded func()
}

// Unwrap gives http.ResponseController access to the connection.
func (r *record) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *record) WriteHeader(status int) {
	if r.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		r.status = status
		if status == http.StatusSwitchingProtocols {
			r.upgraded()
		}
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *record) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// SetRoute sets the route of the request behind w. Only templates are allowed, because routes become metric labels.
func SetRoute(w http.ResponseWriter, template string) {
	if r, ok := w.(*record); ok {
		r.route = template
	}
}

// RequestID returns the id of the request behind w; empty if it has none.
func RequestID(w http.ResponseWriter) string {
	if r, ok := w.(*record); ok {
		return r.id
	}
	return ""
}
