package standalone_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/standalone"
)

// infraDirectory is a directory of `orch infra` that services with the vocabulary prefect have used: 50 events are in it.
func infraDirectory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := start(t, dir, "ORCH_VOCABULARY=prefect")
	s.fill50()
	// A backup waits until all events are stored: no service stores them later.
	require.NoError(t, standalone.Backup(t.Context(), dir, filepath.Join(t.TempDir(), "drained"), standalone.BackupOptions{}, quiet))
	s.stop()
	require.NoError(t, os.Remove(filepath.Join(dir, "orch.json"))) // orch infra writes none.
	return dir
}

// fill50 creates 50 events by a webhook in the vocabulary prefect.
func (s *server) fill50() {
	s.t.Helper()
	var hook struct{ URL string }
	require.Equal(s.t, 201, s.ask("POST", "/webhooks/", `{"name": "gh", "template": "{\"event\": \"pushed\", \"resource\": {\"prefect.resource.id\": \"x\"}}"}`, &hook))
	for range 50 {
		s.post(hook.URL)
	}
}

// runInfra runs orch infra on a directory until stop is called.
func runInfra(t *testing.T, dir string) (stop func()) {
	t.Helper()
	_, stop = runInfraWith(t, standalone.InfraConfig{DataDir: dir, MongoListen: "127.0.0.1:0", NATSListen: "127.0.0.1:0"})
	return stop
}

func runInfraWith(t *testing.T, cfg standalone.InfraConfig) (_ *standalone.Infra, stop func()) {
	t.Helper()
	infra, err := standalone.NewInfra(cfg, quiet)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- infra.Run(ctx) }()
	return infra, func() {
		cancel()
		require.NoError(t, <-done)
	}
}

func TestBackupOfTheDirectoryOfInfra(t *testing.T) {
	t.Parallel()
	dir := infraDirectory(t)
	for name, stop := range map[string]func() func(){
		"stopped": func() func() { return func() {} },
		"running": func() func() { return runInfra(t, dir) },
	} {
		backup, restored := filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "r")
		stop := stop()
		require.NoError(t, standalone.Backup(t.Context(), dir, backup, standalone.BackupOptions{}, quiet), name)
		stop()
		require.NoError(t, standalone.Restore(t.Context(), backup, restored), name)
		runInfra(t, restored)()
		require.Equal(t, int64(50), start(t, restored, "ORCH_VOCABULARY=prefect").events(), name)
	}
}

func TestTheDirectoryOfInfraIsChecked(t *testing.T) {
	t.Parallel()
	dir := infraDirectory(t)
	report, err := standalone.Check(t.Context(), dir)
	require.NoError(t, err)
	require.True(t, report.OK(), "%+v", report)
	var plan strings.Builder
	require.NoError(t, standalone.CheckUpgrade(t.Context(), "test", dir, &plan, quiet))
	require.Contains(t, plan.String(), "nothing to migrate")
	key, err := standalone.OwnerKey(t.Context(), dir, quiet)
	require.NoError(t, err)
	require.NotEmpty(t, key)
	_, err = os.Stat(filepath.Join(dir, "orch.json"))
	require.ErrorIs(t, err, os.ErrNotExist, "the directory stays that of orch infra")
}

// A data directory may have events in its streams that its store lacks, so restore refuses it.
func TestRestoreRefusesADataDirectory(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "r")
	require.ErrorIs(t, standalone.Restore(t.Context(), infraDirectory(t), target), standalone.ErrNotABackup)
	dir := t.TempDir()
	start(t, dir).stop()
	require.ErrorIs(t, standalone.Restore(t.Context(), dir, target), standalone.ErrNotABackup)
}

// The store of an orch infra that no service has used does not say in which vocabulary the backup would be.
func TestBackupOfAnUnusedInfra(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop := runInfra(t, dir)
	require.ErrorContains(t, standalone.Backup(t.Context(), dir, filepath.Join(t.TempDir(), "b"), standalone.BackupOptions{}, quiet), "no orchestration service has used the store")
	stop()
	require.ErrorContains(t, standalone.Backup(t.Context(), dir, filepath.Join(t.TempDir(), "b"), standalone.BackupOptions{}, quiet), "no orchestration service has used the store")
}
