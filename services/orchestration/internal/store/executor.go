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

// Executor executes commands in this process, without a connection. A Dialer that is one also serves insertions, updates by id
// and reads by id: no driver copies the documents then. The embedded server's dialer is one. Every method returns when ctx ends.
// Until the command itself ends it may read what it was given.
type Executor interface {
	// Insert executes the insert command, unordered and with the write concern of a majority on disk, and returns its reply.
	Insert(ctx context.Context, database, collection string, docs []bson.Raw) (reply bson.Raw, err error)
	// Update executes the update command, unordered, and returns its reply. Without journal the reply does not wait for the disk.
	Update(ctx context.Context, database, collection string, updates []bson.Raw, journal bool) (reply bson.Raw, err error)
	// FindOne executes the find command for one document by its id, and returns its reply. An empty projection returns the whole
	// document. With majority the reply has only data that is on disk.
	FindOne(ctx context.Context, database, collection string, filter, projection bson.Raw, majority bool) (reply bson.Raw, err error)
}

// direct measures and traces the commands of an Executor, as the monitor of the driver does with others.
type direct struct {
	executor Executor
	metrics  *metrics
	trace    bool
}

// newDirect returns nil unless the configured dialer is an Executor. Options of the client see every command, so they exclude it.
func newDirect(cfg Config, m *metrics) *direct {
	executor, ok := cfg.Dialer.(Executor)
	if !ok || cfg.Client != nil {
		return nil
	}
	return &direct{executor: executor, metrics: m, trace: cfg.Trace}
}

// The names of the commands in metrics and traces.
const (
	insertCommand = "insert"
	updateCommand = "update"
	findCommand   = "find"
)

// insert inserts documents. Its errors are those of the driver.
func (d *direct) insert(ctx context.Context, database, collection string, docs []bson.Raw) error {
	_, err := d.run(ctx, insertCommand, collection, func(ctx context.Context) (bson.Raw, error) {
		return d.executor.Insert(ctx, database, collection, docs)
	})
	return err
}

// update executes updates, each an element of the update command, and returns the number of matched documents. Its errors are
// those of the driver.
func (d *direct) update(ctx context.Context, database, collection string, updates []bson.Raw, journal bool) (matched int64, err error) {
	reply, err := d.run(ctx, updateCommand, collection, func(ctx context.Context) (bson.Raw, error) {
		return d.executor.Update(ctx, database, collection, updates, journal)
	})
	if err != nil {
		return 0, err
	}
	matched, _ = reply.Lookup("n").AsInt64OK()
	return matched, nil
}

// findOne reads a document by its id, or returns mongo.ErrNoDocuments. Its errors are those of the driver.
func (d *direct) findOne(ctx context.Context, database, collection string, filter, projection bson.Raw, majority bool) (bson.Raw, error) {
	reply, err := d.run(ctx, findCommand, collection, func(ctx context.Context) (bson.Raw, error) {
		return d.executor.FindOne(ctx, database, collection, filter, projection, majority)
	})
	if err != nil {
		return nil, err
	}
	doc, ok := reply.Lookup("cursor", "firstBatch", "0").DocumentOK()
	if !ok {
		return nil, mongo.ErrNoDocuments
	}
	return doc, nil
}

// run measures and traces a command, which ends after operationTimeout. Its errors are those of the driver.
func (d *direct) run(ctx context.Context, command, collection string, execute func(context.Context) (bson.Raw, error)) (bson.Raw, error) {
	var span trace.Span
	if d.trace && trace.SpanFromContext(ctx).IsRecording() {
		span = startCommand(ctx, command, collection)
	}
	start := time.Now()
	bounded, cancel := context.WithTimeout(ctx, operationTimeout)
	reply, err := execute(bounded)
	ended := bounded.Err()
	cancel()
	took := time.Since(start)
	switch {
	case err == nil:
		err = replyError(reply)
		var refused mongo.CommandError
		if ended != nil && errors.As(err, &refused) {
			err = ended // The reply only says that nobody waits for the command.
		}
	case ended == nil:
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var executed mongo.WriteException
	failed := err != nil && !errors.As(err, &executed) // Errors of single documents are in the reply of a command that succeeded.
	if failed {
		d.metrics.failed(command)
	} else {
		d.metrics.succeeded(ctx, command, took)
	}
	if span != nil {
		var outcome error
		if failed {
			outcome = errCommand
		}
		tracing.End(span, outcome)
	}
	return reply, err
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
	if succeeded(reply) {
		return nil
	}
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

// succeeded reports whether a reply has no error at all. Most have none, and need no decoding by reflection.
func succeeded(reply bson.Raw) bool {
	ok, is := reply.Lookup("ok").DoubleOK()
	return is && ok == 1 && reply.Lookup("writeErrors").IsZero() && reply.Lookup("writeConcernError").IsZero()
}
