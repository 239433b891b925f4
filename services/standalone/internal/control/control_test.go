package control_test

import (
	"context"
	"errors"
	"fmt"
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
	require.ErrorIs(t, control.Backup(t.Context(), dir, control.BackupRequest{Dir: "/b"}), control.ErrNoServer, "there is no socket")
	asked := make(chan string, 2)
	s, err := control.Listen(dir, func(_ context.Context, r control.BackupRequest) error {
		asked <- fmt.Sprint(r.Dir, r.Base, r.WithoutKeys)
		if filepath.Base(r.Dir) == "bad" {
			return errors.New("no room")
		}
		return nil
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	require.NoError(t, control.Backup(t.Context(), dir, control.BackupRequest{Dir: "/good"}))
	require.Equal(t, "/goodfalse", <-asked)
	require.ErrorContains(t, control.Backup(t.Context(), dir, control.BackupRequest{Dir: "/bad"}), "no room")
	require.Equal(t, "/badfalse", <-asked)
	require.NoError(t, control.Backup(t.Context(), dir, control.BackupRequest{Dir: "/next", Base: "/good"}))
	require.Equal(t, "/next/goodfalse", <-asked)
	require.NoError(t, control.Backup(t.Context(), dir, control.BackupRequest{Dir: "/good", WithoutKeys: true}))
	require.Equal(t, "/goodtrue", <-asked)
	require.ErrorContains(t, control.Backup(t.Context(), dir, control.BackupRequest{Dir: "relative"}), "absolute")
	require.ErrorContains(t, control.Backup(t.Context(), dir, control.BackupRequest{Dir: "/next", Base: "relative"}), "absolute")
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, s.Close())
	require.ErrorIs(t, control.Backup(t.Context(), dir, control.BackupRequest{Dir: "/b"}), control.ErrNoServer)
}

func TestASocketOfADeadServerIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		_, err := control.Listen(dir, nil)
		require.NoError(t, err)
	}
}
