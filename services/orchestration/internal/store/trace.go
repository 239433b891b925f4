package store

import (
	"context"
	"errors"
	"sync"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/orch-project/orch/pkg/tracing"
)

// commandSpans are the spans of commands in flight. Commands outside a trace, such as those of timers, have none. A span
// has the names of command and collection; it never has the command itself, which holds users' data.
type commandSpans struct {
	mu    sync.Mutex
	spans map[commandKey]trace.Span
}

// commandKey identifies a command in flight.
type commandKey struct {
	connection string
	request    int64
}

func newCommandSpans() *commandSpans { return &commandSpans{spans: map[commandKey]trace.Span{}} }

func (c *commandSpans) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{
		Started: c.start,
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			c.end(commandKey{e.ConnectionID, e.RequestID}, nil)
		},
		Failed: func(_ context.Context, e *event.CommandFailedEvent) {
			c.end(commandKey{e.ConnectionID, e.RequestID}, errCommand)
		},
	}
}

// errCommand stands for the error of a command, which may quote data. The log has it.
var errCommand = errors.New("command failed")

func (c *commandSpans) start(ctx context.Context, e *event.CommandStartedEvent) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	// The first element of a command names its collection; getMore has it elsewhere.
	collection, ok := e.Command.Lookup(e.CommandName).StringValueOK()
	if !ok {
		collection, _ = e.Command.Lookup("collection").StringValueOK()
	}
	span := startCommand(ctx, e.CommandName, collection)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans[commandKey{e.ConnectionID, e.RequestID}] = span
}

// startCommand starts the span of a command.
func startCommand(ctx context.Context, command, collection string) trace.Span {
	_, span := tracing.StartClient(ctx, command+" "+collection)
	span.SetAttributes(
		attribute.String("db.system.name", "mongodb"),
		attribute.String("db.operation.name", command),
		attribute.String("db.collection.name", collection),
	)
	return span
}

func (c *commandSpans) end(key commandKey, err error) {
	c.mu.Lock()
	span, ok := c.spans[key]
	delete(c.spans, key)
	c.mu.Unlock()
	if ok {
		tracing.End(span, err)
	}
}
