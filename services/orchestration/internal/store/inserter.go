package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.opentelemetry.io/otel/trace"

	"github.com/orch-project/orch/pkg/tracing"
)

// Inserter executes insert commands in this process, without a connection. A Dialer that is one also serves the insertions of
// many documents: no driver copies the documents then. The embedded server's dialer is one.
type Inserter interface {
	// Insert executes the insert command, unordered and with the write concern of a majority on disk, and returns its reply.
	// It retains no document.
	Insert(ctx context.Context, database, collection string, docs []bson.Raw) (reply bson.Raw, err error)
}

// direct measures and traces the commands of an Inserter, as the monitor of the driver does with others.
type direct struct {
	inserter Inserter
	metrics  *metrics
	trace    bool
}

// newDirect returns nil unless the configured dialer is an Inserter. Options of the client see every command, so they exclude it.
func newDirect(cfg Config, m *metrics) *direct {
	inserter, ok := cfg.Dialer.(Inserter)
	if !ok || cfg.Client != nil {
		return nil
	}
	return &direct{inserter: inserter, metrics: m, trace: cfg.Trace}
}

// insertCommand is the name of the command in metrics and traces.
const insertCommand = "insert"

// insert inserts documents. Its errors are those of the driver.
func (d *direct) insert(ctx context.Context, database, collection string, docs []bson.Raw) error {
	var span trace.Span
	if d.trace && trace.SpanFromContext(ctx).IsRecording() {
		span = startCommand(ctx, insertCommand, collection)
	}
	start := time.Now()
	reply, err := d.inserter.Insert(ctx, database, collection, docs)
	took := time.Since(start)
	switch {
	case err == nil:
		err = replyError(reply)
	case ctx.Err() == nil:
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var executed mongo.WriteException
	failed := err != nil && !errors.As(err, &executed) // Errors of single documents are in the reply of a command that succeeded.
	if failed {
		d.metrics.failed(insertCommand)
	} else {
		d.metrics.succeeded(ctx, insertCommand, took)
	}
	if span != nil {
		var outcome error
		if failed {
			outcome = errCommand
		}
		tracing.End(span, outcome)
	}
	return err
}

// writeReply is the reply of a write command.
type writeReply struct {
	OK                float64       `bson:"ok"`
	Code              int32         `bson:"code"`
	CodeName          string        `bson:"codeName"`
	Message           string        `bson:"errmsg"`
	Labels            []string      `bson:"errorLabels"`
	WriteErrors       []failedWrite `bson:"writeErrors"`
	WriteConcernError *failedWrite  `bson:"writeConcernError"`
}

// failedWrite is the error of one document, or of the write concern.
type failedWrite struct {
	Index    int    `bson:"index"`
	Code     int    `bson:"code"`
	CodeName string `bson:"codeName"`
	Message  string `bson:"errmsg"`
}

// replyError returns the error in a reply, as the driver does; nil if there is none.
func replyError(reply bson.Raw) error {
	var r writeReply
	if err := bson.Unmarshal(reply, &r); err != nil {
		return fmt.Errorf("decode reply: %w", err)
	}
	if r.OK != 1 {
		return mongo.CommandError{Code: r.Code, Name: r.CodeName, Message: r.Message, Labels: r.Labels, Raw: reply}
	}
	if len(r.WriteErrors) == 0 && r.WriteConcernError == nil {
		return nil
	}
	e := mongo.WriteException{Labels: r.Labels, Raw: reply}
	for _, w := range r.WriteErrors {
		e.WriteErrors = append(e.WriteErrors, mongo.WriteError{Index: w.Index, Code: w.Code, Message: w.Message})
	}
	if c := r.WriteConcernError; c != nil {
		e.WriteConcernError = &mongo.WriteConcernError{Name: c.CodeName, Code: c.Code, Message: c.Message}
	}
	return e
}
