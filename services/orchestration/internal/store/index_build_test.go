package store_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// flowsByName and flowsByCreation are the keys of a unique index and of another one.
var (
	flowsByName     = bson.D{{Key: "ws", Value: 1}, {Key: "name", Value: 1}}
	flowsByCreation = bson.D{{Key: "ws", Value: 1}, {Key: "created", Value: 1}, {Key: "_id", Value: 1}}
)

func indexKeys(t *testing.T, database *mongotest.Database, c query.Collection) (keys []string) {
	t.Helper()
	specs, err := database.Connect().Collection(string(c)).Indexes().ListSpecifications(t.Context())
	require.NoError(t, err)
	for _, spec := range specs {
		keys = append(keys, spec.KeysDocument.String())
	}
	return keys
}

func relaxed(t *testing.T, keys bson.D) string {
	t.Helper()
	raw, err := bson.Marshal(keys)
	require.NoError(t, err)
	return bson.Raw(raw).String()
}

// stream reads the entries of an index.
func stream(t *testing.T, s *store.Store, index bson.D) (entries int, err error) {
	t.Helper()
	for _, err := range s.Reader().Stream(t.Context(), query.Flow, bson.D{}, query.StreamOptions{Index: index}) {
		if err != nil {
			return entries, err
		}
		entries++
	}
	return entries, nil
}

// TestAStartDoesNotWaitForIndexes: reads and writes are right before the indexes exist, and unique keys hold.
func TestAStartDoesNotWaitForIndexes(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	registry := prometheus.NewPedanticRegistry()
	s, err := store.Open(t.Context(), store.Config{
		URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: clock.System{}, IDs: id.System(), Metrics: registry,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) }()
	var log bytes.Buffer
	builder, err := store.StartIndexesWithin(s, t.Context(), query.Indexes(), slog.New(slog.NewTextHandler(&log, nil)), 0)
	require.NoError(t, err)
	require.Contains(t, builder.State(), "building indexes of ")
	require.Contains(t, indexKeys(t, database, query.Flow), relaxed(t, flowsByName))
	require.NotContains(t, indexKeys(t, database, query.Flow), relaxed(t, flowsByCreation))
	require.Positive(t, pendingBuilds(t, registry))

	ws := uuid.New()
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, flows(s).Insert(t.Context(), ws, &orchv1.Flow{Id: uuid.NewString(), Name: name}))
	}
	require.ErrorIs(t, flows(s).Insert(t.Context(), ws, &orchv1.Flow{Id: uuid.NewString(), Name: "a"}), store.ErrDuplicate)
	byCreation := func() (names string) {
		found, err := flows(s).Find(t.Context(), ws, store.Query{Index: flowsByCreation})
		require.NoError(t, err)
		for _, f := range found {
			names += f.GetName()
		}
		return names
	}
	require.Equal(t, "abc", byCreation(), "without a hint")
	_, err = stream(t, s, flowsByCreation)
	require.ErrorIs(t, err, query.ErrIndexIncomplete)

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- builder.Run(ctx) }()
	require.Eventually(t, func() bool { return builder.State() == "" }, time.Minute, time.Millisecond)
	require.Equal(t, "abc", byCreation(), "with a hint")
	entries, err := stream(t, s, flowsByCreation)
	require.NoError(t, err)
	require.Equal(t, 3, entries)
	require.Contains(t, indexKeys(t, database, query.Flow), relaxed(t, flowsByCreation))
	require.Zero(t, pendingBuilds(t, registry))
	cancel()
	require.NoError(t, <-done)
	require.Equal(t, 1, strings.Count(log.String(), "index build began"), log.String())
	require.Equal(t, 1, strings.Count(log.String(), "indexes are built"), log.String())
}

// A start with all indexes builds nothing and says nothing.
func TestAStartWithIndexesIsQuiet(t *testing.T) {
	t.Parallel()
	s, done := open(t, t.TempDir(), embeddedmongo.Options{})
	defer done()
	var log bytes.Buffer
	builder, err := s.StartIndexes(t.Context(), query.Indexes(), slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, builder.Run(ctx))
	require.Empty(t, log.String())
}

// pendingBuilds is the value of the gauge.
func pendingBuilds(t *testing.T, registry *prometheus.Registry) float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "orch_store_index_builds_pending" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no gauge of index builds")
	return 0
}

// TestIndexBuildsNeedAMajority: a build does not wait for a member of the replica set that is down.
func TestIndexBuildsNeedAMajority(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	var quorums []string
	s, err := store.Open(t.Context(), store.Config{
		URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: clock.System{}, IDs: id.System(),
		Client: func(o *options.ClientOptions) {
			o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				if e.CommandName == "createIndexes" {
					quorum, _ := e.Command.Lookup("commitQuorum").StringValueOK()
					quorums = append(quorums, quorum)
				}
			}})
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	unique := query.Index{Collection: query.Flow, Keys: flowsByName, Unique: true}
	require.NoError(t, s.EnsureIndexes(t.Context(), []query.Index{unique}))
	unique.Unique = false // It is made again with other options.
	require.NoError(t, s.EnsureIndexes(t.Context(), []query.Index{unique}))
	require.GreaterOrEqual(t, len(quorums), 3)
	for _, quorum := range quorums {
		require.Equal(t, "majority", quorum)
	}
}
