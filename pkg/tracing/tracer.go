package tracing

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Tracer begins and continues traces for one component of a process. Nil is off.
type Tracer struct {
	tracer trace.Tracer
}

// Component returns the tracer of a component, such as "gateway"; the spans carry its name as their scope.
func Component(provider trace.TracerProvider, name string) *Tracer {
	return &Tracer{tracer: provider.Tracer(name)}
}

// Serve starts the span of a request that arrived in this process. Its parent is the span of ctx, else the remote
// parent, else none.
func (t *Tracer) Serve(ctx context.Context, name string, parent Parent) (context.Context, trace.Span) {
	if t == nil {
		return ctx, off
	}
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = parent.remote(ctx)
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer)) //nolint:spancheck // The caller ends it.
}

// Continue starts the span of a message, event or effect that arrived in this process, below its parent, whatever the span
// of ctx is: that may be of another message of the same batch. Without a parent it records nothing, because background work of its own is not worth a trace.
func (t *Tracer) Continue(ctx context.Context, name string, parent Parent) (context.Context, trace.Span) {
	if t == nil || parent.Trace == "" {
		return ctx, off
	}
	return t.tracer.Start(parent.remote(ctx), name, trace.WithSpanKind(trace.SpanKindConsumer)) //nolint:spancheck // The caller ends it.
}

// off is the span that records nothing.
var off = trace.SpanFromContext(context.Background())

// Start starts a span below that of ctx. It records nothing, and allocates nothing, when that does not record.
func Start(ctx context.Context, name string) (context.Context, trace.Span) {
	return start(ctx, name, trace.SpanKindInternal)
}

// StartClient is Start for a call of another process.
func StartClient(ctx context.Context, name string) (context.Context, trace.Span) {
	return start(ctx, name, trace.SpanKindClient)
}

// StartProducer is Start for a message to another process.
func StartProducer(ctx context.Context, name string) (context.Context, trace.Span) {
	return start(ctx, name, trace.SpanKindProducer)
}

func start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, off
	}
	return parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind)) //nolint:spancheck // The caller ends it.
}

// scope names the spans that are started from a context.
const scope = "orch"

// End ends a span, with an error if there is one. Error texts are those of logs.
func End(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
