package tracing

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
)

// isServerError reports whether a status tells of a failure of the server, after OpenTelemetry's conventions for gRPC
// servers.
func isServerError(code codes.Code) bool {
	switch code {
	case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
		return true
	}
	return false
}

// knownMethods are those that a span names, after OpenTelemetry's conventions for HTTP.
var knownMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodOptions: true,
}

// EndRequest names the span of an HTTP request after its route template and ends it with the status of the response.
func EndRequest(span trace.Span, method, route string, code int) {
	if !span.IsRecording() {
		return
	}
	if !knownMethods[method] {
		method = "_OTHER" // Clients may send any method.
	}
	span.SetName(method + " " + route)
	span.SetAttributes(
		attribute.String("http.request.method", method),
		attribute.String("http.route", route),
		attribute.Int("http.response.status_code", code),
	)
	if code >= http.StatusInternalServerError {
		span.SetStatus(otelcodes.Error, http.StatusText(code))
	}
	span.End()
}
