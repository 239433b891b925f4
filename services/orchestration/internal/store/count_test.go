package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// TestACountHasATimeLimit: the server ends a walk that takes too long, and the caller learns that it was the count.
func TestACountHasATimeLimit(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true, TestCommands: true})
	limits := make(chan int64, 10)
	s, err := store.Open(t.Context(), store.Config{
		URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: clock.System{}, IDs: id.System(),
		Client: func(o *options.ClientOptions) {
			o.SetAppName(database.AppName).SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				if e.CommandName == "count" {
					limit, _ := e.Command.Lookup("maxTimeMS").AsInt64OK()
					limits <- limit
				}
			}})
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	_, err = flows(s).Count(t.Context(), uuid.New(), store.Query{})
	require.NoError(t, err)
	require.InDelta(t, 2500, <-limits, 2500, "milliseconds, of which the driver has used some")

	const maxTimeExpired = 50
	database.FailCommands(t, "alwaysOn", bson.D{{Key: "failCommands", Value: bson.A{"count"}}, {Key: "errorCode", Value: maxTimeExpired}})
	_, err = flows(s).Count(t.Context(), uuid.New(), store.Query{})
	require.ErrorIs(t, err, store.ErrSlowCount)
	require.ErrorIs(t, err, store.ErrUnavailable)
}

// TestAQueryHasATimeLimit: a search that no index serves ends in an error that says so, on each path of package query.
func TestAQueryHasATimeLimit(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true, TestCommands: true})
	s, err := store.Open(t.Context(), store.Config{
		URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: clock.System{}, IDs: id.System(),
		Client: func(o *options.ClientOptions) { o.SetAppName(database.AppName) },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	const maxTimeExpired = 50
	database.FailCommands(t, "alwaysOn", bson.D{
		{Key: "failCommands", Value: bson.A{"find", "aggregate"}}, {Key: "errorCode", Value: maxTimeExpired},
	})
	for name, read := range map[string]func() error{
		"find": func() error {
			for _, err := range s.Reader().Stream(t.Context(), query.Flow, bson.D{}, query.StreamOptions{}) {
				return err
			}
			return nil
		},
		"groups": func() error {
			_, err := s.Reader().Groups(t.Context(), query.Flow, nil, "name", bson.D{}, 1)
			return err
		},
		"aggregate": func() error {
			for _, err := range s.Reader().Aggregate(t.Context(), query.Flow, bson.D{}, nil) {
				return err
			}
			return nil
		},
	} {
		err := read()
		require.ErrorIs(t, err, store.ErrSlowQuery, name)
		require.ErrorIs(t, err, store.ErrUnavailable, name)
	}
}

// TestAQueryOfSeveralCommandsHasATimeLimit: the end of a query's context reads like the time limit of a command, and that of a
// request does not.
func TestAQueryOfSeveralCommandsHasATimeLimit(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	s, err := store.Open(t.Context(), store.Config{
		URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: clock.System{}, IDs: id.System(),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	past := time.Now().Add(-time.Second)
	bounded, end := context.WithDeadlineCause(t.Context(), past, query.ErrTimeLimit)
	defer end()
	_, err = s.Reader().Groups(bounded, query.Flow, nil, "name", bson.D{}, 1)
	require.ErrorIs(t, err, store.ErrSlowQuery)
	_, err = s.Reader().Count(bounded, query.Flow, bson.D{}, 0)
	require.ErrorIs(t, err, store.ErrSlowCount)

	request, end := context.WithDeadline(t.Context(), past)
	defer end()
	_, err = s.Reader().Groups(request, query.Flow, nil, "name", bson.D{}, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, store.ErrSlowQuery)
}
