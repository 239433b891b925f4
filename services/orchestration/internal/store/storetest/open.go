package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// New returns a store with all indexes on a database of its own, on the server that ORCH_TEST_MONGODB_URI names or on an
// embedded one. It is closed when the test ends.
func New(tb testing.TB, c clock.Clock) *store.Store {
	tb.Helper()
	s := Connect(tb, mongotest.Open(tb, embeddedmongo.Options{NoSync: true}), c)
	require.NoError(tb, s.EnsureIndexes(tb.Context(), query.Indexes()))
	return s
}

// Connect returns a store on a database, without making indexes. It is closed when the test ends.
func Connect(tb testing.TB, database *mongotest.Database, c clock.Clock) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), store.Config{
		URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: c, IDs: id.System(),
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close(context.WithoutCancel(tb.Context()))) })
	return s
}
