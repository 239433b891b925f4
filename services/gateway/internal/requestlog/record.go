// Package requestlog watches every request of the gateway: its id, its log line, its metrics, its panics.
//
// What is said of a request names the template of its route, never the path, which may hold a webhook's secret.
package requestlog

import (
	"net/http"
)

// record is the ResponseWriter that handlers get; it remembers what is said of the request at its end.
type record struct {
	http.ResponseWriter
	id     string
	route  string
	status int
	bytes  int64
	// upgraded is called when the connection becomes another protocol's.
	upgraded func()
}

// Unwrap lets http.ResponseController reach the connection.
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

// SetRoute names the route of the request that w answers. Templates only: the names become labels of metrics.
func SetRoute(w http.ResponseWriter, template string) {
	if r, ok := w.(*record); ok {
		r.route = template
	}
}

// RequestID is the id of the request that w answers; empty when nobody gave it one.
func RequestID(w http.ResponseWriter) string {
	if r, ok := w.(*record); ok {
		return r.id
	}
	return ""
}
