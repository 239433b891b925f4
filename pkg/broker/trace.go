package broker

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/orch-project/orch/pkg/tracing"
)

// continueTrace makes the span of ctx the event's parent, unless the event has one.
func (e *Event) continueTrace(ctx context.Context) {
	if e.TraceParent != "" {
		return
	}
	parent := tracing.ParentOf(ctx)
	e.TraceParent, e.TraceState = parent.Trace, parent.State
}

// Parent is the trace context that the event carries.
func (e *Event) Parent() tracing.Parent {
	return tracing.Parent{Trace: e.TraceParent, State: e.TraceState}
}

// startFrames starts the span of a frame in the trace of each of its publishers that records.
func startFrames(waiters []*waiter) Spans {
	var spans Spans
	events := 0
	for _, w := range waiters {
		events += w.events
		if w.span != nil && w.span.IsRecording() {
			_, span := tracing.StartProducer(trace.ContextWithSpan(context.Background(), w.span), "frame")
			spans = append(spans, span)
		}
	}
	for _, span := range spans {
		span.SetAttributes(attribute.Int("messaging.batch.message_count", events))
	}
	return spans
}

// ContinueFrom makes a span the event's parent; the zero value changes nothing.
func (e *Event) ContinueFrom(parent tracing.Parent) {
	if parent.Trace != "" {
		e.TraceParent, e.TraceState = parent.Trace, parent.State
	}
}

// Spans are the spans of one batch in the traces of its events.
type Spans []trace.Span

// ContinueTraces starts a span for each event of a batch that belongs to a trace, and makes that span the event's parent.
// The returned context has the first span, to which the work of a handler for the whole batch belongs.
func ContinueTraces(ctx context.Context, t *tracing.Tracer, name string, batch []Event) (context.Context, Spans) {
	if t == nil {
		return ctx, nil
	}
	var spans Spans
	first := ctx
	for i := range batch {
		continued, span := t.Continue(ctx, name, batch[i].Parent())
		if !span.IsRecording() {
			continue
		}
		if len(spans) == 0 {
			first = continued //nolint:fatcontext // Once: it is the context of the whole batch.
		}
		spans = append(spans, span)
		batch[i].ContinueFrom(tracing.ParentOf(continued))
	}
	return first, spans
}

// End ends the spans. A rejected event is an error of its own, which its dead letter has.
func (s Spans) End(err error) {
	if _, ok := errors.AsType[*Rejected](err); ok {
		err = nil
	}
	for _, span := range s {
		tracing.End(span, err)
	}
}
