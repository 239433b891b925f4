package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// TestReplyErrors: the errors of an Executor's reply have the classes that the driver's errors have.
func TestReplyErrors(t *testing.T) {
	t.Parallel()
	errorOf := func(reply bson.D) error {
		raw, err := bson.Marshal(reply)
		require.NoError(t, err)
		return replyError(raw)
	}
	failed := bson.D{{Key: "index", Value: 3}, {Key: "code", Value: 2}, {Key: "errmsg", Value: "bad"}}
	duplicate := bson.D{{Key: "index", Value: 5}, {Key: "code", Value: 11000}, {Key: "errmsg", Value: "duplicate"}}
	require.NoError(t, errorOf(bson.D{{Key: "n", Value: 2}, {Key: "ok", Value: 1.0}}))

	taken, refused, err := splitWriteErrors(errorOf(bson.D{{Key: "n", Value: 0}, {Key: "writeErrors", Value: bson.A{failed, duplicate}}, {Key: "ok", Value: 1.0}}))
	require.NoError(t, err)
	require.Equal(t, []int{5}, taken)
	require.Equal(t, 3, refused[0].Position)
	require.True(t, IsPermanent(refused[0].Err))

	shutdown := errorOf(bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: "server is closing"}, {Key: "code", Value: 91}})
	require.ErrorIs(t, outage(shutdown), ErrUnavailable)
	unconfirmed := errorOf(bson.D{{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}}}, {Key: "ok", Value: 1.0}})
	_, _, err = splitWriteErrors(unconfirmed)
	require.ErrorIs(t, outage(err), ErrUnavailable)
}

// executor replies to every command with the same reply or error.
type executor struct {
	reply bson.D
	err   error
}

func (i executor) Insert(context.Context, string, string, []bson.Raw) (bson.Raw, error) {
	if i.err != nil {
		return nil, i.err
	}
	return bson.Marshal(i.reply)
}

func (i executor) Update(ctx context.Context, database, collection string, updates []bson.Raw, _ bool) (bson.Raw, error) {
	return i.Insert(ctx, database, collection, updates)
}

func (i executor) FindOne(ctx context.Context, database, collection string, filter, _ bson.Raw, _ bool) (bson.Raw, error) {
	return i.Insert(ctx, database, collection, []bson.Raw{filter})
}

// TestDirectReads: an empty batch is the driver's error for a missing document.
func TestDirectReads(t *testing.T) {
	t.Parallel()
	m := newMetrics(nil, &incomplete{})
	read := func(batch ...any) (bson.Raw, error) {
		e := executor{reply: bson.D{{Key: "cursor", Value: bson.D{{Key: "firstBatch", Value: bson.A(batch)}, {Key: "id", Value: int64(0)}}}, {Key: "ok", Value: 1.0}}}
		return (&direct{executor: e, metrics: m}).findOne(t.Context(), "d", "c", nil, nil, true)
	}
	doc, err := read(bson.D{{Key: "_id", Value: int32(7)}})
	require.NoError(t, err)
	require.Equal(t, int32(7), doc.Lookup("_id").Int32())
	_, err = read()
	require.ErrorIs(t, err, mongo.ErrNoDocuments)
	_, err = (&direct{executor: executor{reply: bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 91}}}, metrics: m}).findOne(t.Context(), "d", "c", nil, nil, false)
	require.ErrorIs(t, outage(err), ErrUnavailable)
}

// stalledExecutor executes commands until nobody waits any more.
type stalledExecutor struct{}

func (stalledExecutor) Insert(ctx context.Context, _, _ string, _ []bson.Raw) (bson.Raw, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (e stalledExecutor) Update(ctx context.Context, _, _ string, _ []bson.Raw, _ bool) (bson.Raw, error) {
	return e.Insert(ctx, "", "", nil)
}

func (e stalledExecutor) FindOne(ctx context.Context, _, _ string, _, _ bson.Raw, _ bool) (bson.Raw, error) {
	return e.Insert(ctx, "", "", nil)
}

// TestDirectCommandsHaveATimeLimit: a command whose caller sets no deadline ends after operationTimeout, and its error says so.
func TestDirectCommandsHaveATimeLimit(t *testing.T) {
	t.Parallel()
	for name, execute := range map[string]func(context.Context, *direct) error{
		"insert": func(ctx context.Context, d *direct) error { return d.insert(ctx, "d", "c", nil) },
		"update": func(ctx context.Context, d *direct) error {
			_, err := d.update(ctx, "d", "c", nil, true)
			return err
		},
		"find": func(ctx context.Context, d *direct) error {
			_, err := d.findOne(ctx, "d", "c", nil, nil, true)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &direct{executor: stalledExecutor{}, metrics: newMetrics(nil, &incomplete{})}
				began := time.Now()
				err := execute(t.Context(), d)
				require.ErrorIs(t, outage(err), ErrUnavailable)
				require.ErrorIs(t, limited(t.Context(), ErrSlowCount, err), ErrSlowCount)
				require.Equal(t, operationTimeout, time.Since(began))
			})
		})
	}
}

// TestDirectUpdates: an update has the classes of errors of the driver, and counts matches.
func TestDirectUpdates(t *testing.T) {
	t.Parallel()
	m := newMetrics(nil, &incomplete{})
	update := func(i executor) (int64, error) {
		return (&direct{executor: i, metrics: m}).update(t.Context(), "d", "c", nil, true)
	}
	n, err := update(executor{reply: bson.D{{Key: "n", Value: int32(1)}, {Key: "nModified", Value: int32(1)}, {Key: "ok", Value: 1.0}}})
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	_, err = update(executor{reply: bson.D{{Key: "n", Value: int32(0)}, {Key: "writeErrors", Value: bson.A{bson.D{{Key: "code", Value: 11000}}}}, {Key: "ok", Value: 1.0}}})
	require.True(t, mongo.IsDuplicateKeyError(err))
	_, err = update(executor{err: errors.New("closed")})
	require.ErrorIs(t, err, ErrUnavailable)
	_, err = update(executor{reply: bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 91}}})
	require.ErrorIs(t, outage(err), ErrUnavailable)
}

// TestDirectInsertions: a command that was executed calls Config.Available, also when documents failed.
func TestDirectInsertions(t *testing.T) {
	t.Parallel()
	available := 0
	m := newMetrics(nil, &incomplete{})
	m.available = func() { available++ }
	insert := func(i executor) error {
		return (&direct{executor: i, metrics: m}).insert(t.Context(), "d", "c", nil)
	}
	require.NoError(t, insert(executor{reply: bson.D{{Key: "ok", Value: 1.0}}}))
	require.Equal(t, 1, available)
	var executed mongo.WriteException
	require.ErrorAs(t, insert(executor{reply: bson.D{{Key: "writeErrors", Value: bson.A{bson.D{{Key: "code", Value: 2}}}}, {Key: "ok", Value: 1.0}}}), &executed)
	require.Equal(t, 2, available)
	require.ErrorIs(t, insert(executor{err: context.DeadlineExceeded}), ErrUnavailable)
	require.Error(t, insert(executor{reply: bson.D{{Key: "ok", Value: 0.0}}}))
	require.Equal(t, 2, available)
}
