package control_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/standalone/internal/control"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestBackupAsksTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.ErrorIs(t, control.Backup(t.Context(), dir, "/b", ""), control.ErrNoServer, "there is no socket")
	asked := make(chan string, 2)
	s, err := control.Listen(dir, func(_ context.Context, backup, base string) error {
		asked <- backup + base
		if filepath.Base(backup) == "bad" {
			return errors.New("no room")
		}
		return nil
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	require.NoError(t, control.Backup(t.Context(), dir, "/good", ""))
	require.Equal(t, "/good", <-asked)
	require.ErrorContains(t, control.Backup(t.Context(), dir, "/bad", ""), "no room")
	require.Equal(t, "/bad", <-asked)
	require.NoError(t, control.Backup(t.Context(), dir, "/next", "/good"))
	require.Equal(t, "/next/good", <-asked)
	require.ErrorContains(t, control.Backup(t.Context(), dir, "relative", ""), "absolute")
	require.ErrorContains(t, control.Backup(t.Context(), dir, "/next", "relative"), "absolute")
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, s.Close())
	require.ErrorIs(t, control.Backup(t.Context(), dir, "/b", ""), control.ErrNoServer)
}

func TestASocketOfADeadServerIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		_, err := control.Listen(dir, nil)
		require.NoError(t, err)
	}
}
