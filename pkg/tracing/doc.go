// Package tracing records OpenTelemetry spans, and carries W3C trace contexts between processes, events and effects.
//
//	request ──► Tracer.Serve ──► Start ──► Start … ──► Headers: HTTP, gRPC metadata
//	                                          └──────► Parent: events, effects ──► Tracer.Continue ──► Start …
//
// A nil *Tracer is off: it records nothing and allocates nothing. So is Start under a context without a span. Only what
// begins a trace, or continues one that arrives from outside, needs a Tracer; all else starts its spans from the context.
//
// [Open] reads the OTEL_ variables of the OpenTelemetry specification. No span contains a path, a body, a credential or
// the slug of a webhook.
package tracing
