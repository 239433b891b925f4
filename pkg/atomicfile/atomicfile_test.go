package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/atomicfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// alone checks that a directory contains exactly one file, with that text, readable only by its owner.
func alone(t *testing.T, path, text string) {
	t.Helper()
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, string(have))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing half-written is left")
}

func TestReplace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"one", "", "two"} {
		require.NoError(t, atomicfile.Replace(path, []byte(text)))
		alone(t, path, text)
	}
	require.ErrorIs(t, atomicfile.Replace(filepath.Join(t.TempDir(), "no", "f"), nil), fs.ErrNotExist)
}

func TestCreateHappensOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	var winner atomic.Int64
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			if err := atomicfile.Create(path, []byte(strconv.Itoa(i))); err == nil {
				winner.Add(1000 + int64(i))
			}
		})
	}
	group.Wait()
	require.Equal(t, int64(1), winner.Load()/1000, "one wins")
	require.ErrorIs(t, atomicfile.Create(path, []byte("x")), fs.ErrExist)
	alone(t, path, strconv.FormatInt(winner.Load()%1000, 10))
}
