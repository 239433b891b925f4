package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Parent is the W3C trace context of a span, as headers, metadata, events and effects carry it: the values of traceparent
// and tracestate. The zero value is no parent. Source: https://www.w3.org/TR/trace-context/
type Parent struct {
	Trace, State string
}

// The names of the values, in HTTP headers, gRPC metadata and CloudEvents alike.
const (
	keyTrace = "traceparent"
	keyState = "tracestate"
)

// The canonical forms for net/http, which would allocate them.
const (
	headerTrace = "Traceparent"
	headerState = "Tracestate"
)

// ParentOf returns the span of ctx as the parent of what it causes elsewhere.
func ParentOf(ctx context.Context) Parent {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return Parent{}
	}
	var p Parent
	propagation.TraceContext{}.Inject(ctx, (*carrier)(&p))
	return p
}

// remote returns ctx with the parent as a remote span; an invalid parent changes nothing.
func (p Parent) remote(ctx context.Context) context.Context {
	if p.Trace == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, (*carrier)(&p))
}

// FromHeader reads the parent from the header of a request.
func FromHeader(h http.Header) Parent {
	return Parent{Trace: h.Get(headerTrace), State: h.Get(headerState)}
}

// SetHeader writes the span of ctx into the header of an outgoing request. Without a span it leaves the header as it is.
func SetHeader(ctx context.Context, h http.Header) {
	p := ParentOf(ctx)
	if p.Trace == "" {
		return
	}
	h.Set(headerTrace, p.Trace)
	if p.State == "" {
		h.Del(headerState)
		return
	}
	h.Set(headerState, p.State)
}

// carrier adapts Parent to the propagator.
type carrier Parent

// Get implements propagation.TextMapCarrier.
func (c *carrier) Get(key string) string {
	switch key {
	case keyTrace:
		return c.Trace
	case keyState:
		return c.State
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c *carrier) Set(key, value string) {
	switch key {
	case keyTrace:
		c.Trace = value
	case keyState:
		c.State = value
	}
}

// Keys implements propagation.TextMapCarrier.
func (*carrier) Keys() []string { return []string{keyTrace, keyState} }
