package embeddedmongo_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// filled makes a directory with n documents, closed.
func filled(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	s, err := embeddedmongo.Open(dir, embeddedmongo.Options{})
	require.NoError(t, err)
	cl := connect(t, s)
	c := cl.Database("d").Collection("runs")
	runIndexes(t, c)
	var docs []any
	for i := range n {
		docs = append(docs, append(runDoc(i), D{{Key: "pad", Value: strings.Repeat("x", 600)}}...))
	}
	_, err = c.InsertMany(context.WithoutCancel(t.Context()), docs)
	require.NoError(t, err)
	require.NoError(t, cl.Disconnect(context.WithoutCancel(t.Context())))
	require.NoError(t, s.Close())
	return dir
}

func files(t *testing.T, dir, ext string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+ext))
	require.NoError(t, err)
	return names
}

func TestTornLogTailOpens(t *testing.T) {
	for name, kept := range map[string]func(int64) int64{
		"a few bytes": func(size int64) int64 { return size - 7 },
		"half of it":  func(size int64) int64 { return size / 2 },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t, 500)
			logs := files(t, dir, ".log")
			require.NotEmpty(t, logs)
			last := logs[len(logs)-1]
			st, err := os.Stat(last)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(last, kept(st.Size())))
			s, cl := start(t, dir, embeddedmongo.Options{})
			r, err := s.Check(context.WithoutCancel(t.Context()))
			require.NoError(t, err)
			require.True(t, r.OK(), "%v", r)
			n, err := cl.Database("d").Collection("runs").CountDocuments(context.WithoutCancel(t.Context()), M{})
			require.NoError(t, err)
			require.Positive(t, n)
		})
	}
}

func TestFlippedByteIsReportedNotServed(t *testing.T) {
	t.Parallel()
	dir := filled(t, 40_000) // More than a memtable: there are tables on disk.
	tables := files(t, dir, ".sst")
	require.NotEmpty(t, tables)
	largest, size := "", int64(0)
	for _, f := range tables {
		st, err := os.Stat(f)
		require.NoError(t, err)
		if st.Size() > size {
			largest, size = f, st.Size()
		}
	}
	b, err := os.ReadFile(largest)
	require.NoError(t, err)
	b[len(b)/3] ^= 0x40
	require.NoError(t, os.WriteFile(largest, b, 0o600))
	_, err = embeddedmongo.Check(context.WithoutCancel(t.Context()), dir)
	require.Error(t, err)
	t.Log(err)
	s, err := embeddedmongo.Open(dir, embeddedmongo.Options{})
	if err != nil {
		return // Refusing to open is a report too.
	}
	cl := connect(t, s)
	defer func() {
		require.NoError(t, cl.Disconnect(context.WithoutCancel(t.Context())))
		_ = s.Close()
	}()
	cur, err := cl.Database("d").Collection("runs").Find(context.WithoutCancel(t.Context()), M{})
	if err == nil {
		var all []D
		err = cur.All(context.WithoutCancel(t.Context()), &all)
	}
	require.ErrorContains(t, err, "corrupt")
}

func TestForeignDirectoryIsRefusedUntouched(t *testing.T) {
	for name, file := range map[string]string{"another format": "ORCH-STORE", "something else": "notes.txt"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte("orch embedded store, format 99\n"), 0o600))
			_, err := embeddedmongo.Open(dir, embeddedmongo.Options{})
			require.ErrorIs(t, err, embeddedmongo.ErrFormat)
			names, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, names, 1)
			_, err = embeddedmongo.Check(context.WithoutCancel(t.Context()), dir)
			require.ErrorIs(t, err, embeddedmongo.ErrFormat)
		})
	}
}
