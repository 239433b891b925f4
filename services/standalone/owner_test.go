package standalone_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/services/standalone"
)

// TestTheOwnersFirstKeyIsInAFile that only its owner reads, from the first start on new data on.
func TestTheOwnersFirstKeyIsInAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *standalone.Server {
		cfg, err := config.LoadFrom[standalone.Config](map[string]string{
			"ORCH_DATA_DIR": dir, "ORCH_GATEWAY_LISTEN": "127.0.0.1:0", "ORCH_INTERNAL_LISTEN": "none", "ORCH_AUTH": "keys",
		})
		require.NoError(t, err)
		s, err := standalone.New(t.Context(), cfg, "test", quiet)
		require.NoError(t, err)
		return s
	}
	s := open()
	require.NotEmpty(t, s.OwnerKey())
	require.Equal(t, filepath.Join(dir, "owner.key"), s.OwnerKeyFile())
	text, err := os.ReadFile(s.OwnerKeyFile())
	require.NoError(t, err)
	require.Equal(t, s.OwnerKey()+"\n", string(text))
	info, err := os.Stat(s.OwnerKeyFile())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	file := s.OwnerKeyFile()
	require.NoError(t, s.Close(t.Context()))

	require.NoError(t, os.Remove(file))
	again := open()
	require.Empty(t, again.OwnerKey())
	require.Empty(t, again.OwnerKeyFile())
	require.NoFileExists(t, file, "there is one first key")
	require.NoError(t, again.Close(t.Context()))
}

// TestABackupLeavesKeysOut: it is complete but for the keys, with which the restored directory reads the secrets again.
func TestABackupLeavesKeysOut(t *testing.T) {
	t.Parallel()
	dir, backup, restored := t.TempDir(), filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "r")
	s := start(t, dir)
	s.fill(1)
	keys, err := os.ReadFile(filepath.Join(dir, "secrets.key"))
	require.NoError(t, err)
	require.NoError(t, standalone.Backup(t.Context(), dir, backup, standalone.BackupOptions{WithoutKeys: true}, quiet))
	require.NoError(t, standalone.Backup(t.Context(), dir, backup+"-with-keys", standalone.BackupOptions{}, quiet))
	for path, want := range map[string]bool{backup: false, backup + "-with-keys": true} {
		has, err := standalone.HasKeys(path)
		require.NoError(t, err)
		require.Equal(t, want, has, path)
	}
	require.NoError(t, filepath.WalkDir(backup, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), strings.TrimSpace(string(keys)[strings.LastIndex(strings.TrimSpace(string(keys)), "\n"):]), path)
		return err
	}))
	require.NoError(t, standalone.Restore(t.Context(), backup, restored))
	require.NoFileExists(t, filepath.Join(restored, "secrets.key"))
	require.NoError(t, os.WriteFile(filepath.Join(restored, "secrets.key"), keys, 0o600))
	require.Equal(t, int64(1), start(t, restored).events())
}
