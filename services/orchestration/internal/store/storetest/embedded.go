package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Embedded returns an empty store with all indexes on an embedded server. It uses the clock, does not wait for the
// disk, and is closed when the test ends.
func Embedded(t testing.TB, c clock.Clock) *store.Store {
	t.Helper()
	return EmbeddedIn(t, c, t.TempDir())
}

// EmbeddedIn is Embedded with a directory that the caller owns, and may open again.
func EmbeddedIn(t testing.TB, c clock.Clock, dir string) *store.Store {
	t.Helper()
	server, err := embeddedmongo.Open(dir, embeddedmongo.Options{NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	s, err := store.Open(t.Context(), store.Config{
		URI: server.URI(), Database: "orch", Dialer: server.ContextDialer(), Clock: c, IDs: id.System(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
	return s
}
