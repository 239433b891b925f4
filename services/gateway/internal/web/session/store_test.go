package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestSessionsExpire(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	store := session.NewStore(session.Options{Clock: now})
	open := func() string {
		token, err := store.Open(t.Context(), session.Session{Digest: "digest"})
		require.NoError(t, err)
		return token
	}
	found := func(token string) bool {
		_, ok := store.Find(t.Context(), token)
		return ok
	}
	idle, busy := open(), open()
	require.True(t, found(idle) && found(busy))
	require.False(t, found("") || found(idle[1:]) || found(idle[1:]+"x"))
	for range 11 {
		now.Advance(time.Hour)
		require.True(t, found(busy))
	}
	require.False(t, found(idle), "two hours without a request")
	require.Len(t, store.Of("digest"), 1)
	require.Empty(t, store.Of("other"))
	now.Advance(time.Hour)
	require.False(t, found(busy), "twelve hours after sign-in")

	ended := open()
	of, ok := store.Find(t.Context(), ended)
	require.True(t, ok)
	require.NotEqual(t, ended, of.ID, "the id does not grant access")
	require.NoError(t, store.Close(t.Context(), of.ID))
	require.False(t, found(ended))
}
