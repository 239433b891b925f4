package requestlog

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/telemetry"
)

// metrics are the metrics of requests.
type metrics struct {
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	sockets  *prometheus.GaugeVec
	panics   prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	return &metrics{
		duration: telemetry.Register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "orch_http_request_duration_seconds",
			Help:    "Time to answer requests, by route template, method and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method", "code"})),
		inFlight: telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orch_http_requests_in_flight",
			Help: "Requests that are being answered.",
		})),
		sockets: telemetry.Register(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "orch_websockets_open",
			Help: "Open websockets, by route template.",
		}, []string{"route"})),
		panics: telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "orch_http_panics_total",
			Help: "Requests that ended in a panic.",
		})),
	}
}

// methodLabel bounds the label's cardinality, because clients may send any method.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "OTHER"
}

// codeLabel avoids an allocation for common statuses.
func codeLabel(status int) string {
	switch status {
	case http.StatusOK:
		return "200"
	case http.StatusCreated:
		return "201"
	case http.StatusNoContent:
		return "204"
	}
	return strconv.Itoa(status)
}
