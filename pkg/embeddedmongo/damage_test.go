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

// A crash interrupts a write to the log. Writes after the last sync were not acknowledged.
func TestTornLogTailOpens(t *testing.T) {
	for name, torn := range map[string][]byte{
		"a few bytes": {1, 2, 3, 4, 5, 6, 7}, "a block": []byte(strings.Repeat("torn", 10_000)), "zeros": make([]byte, 50_000),
	} {
		t.Run(name, func(t *testing.T) {
			dir := crashed(t, 500)
			change(t, newest(t, dir, ".log"), func(b []byte) []byte { return append(b, torn...) })
			s, cl := start(t, dir, embeddedmongo.Options{})
			r, err := s.Check(context.WithoutCancel(t.Context()))
			require.NoError(t, err)
			require.True(t, r.OK(), "%v", r)
			n, err := cl.Database("d").Collection("runs").CountDocuments(context.WithoutCancel(t.Context()), M{})
			require.NoError(t, err)
			require.EqualValues(t, 500, n)
		})
	}
}

// The server refuses to start on a log that lacks synced and acknowledged writes.
func TestADamagedLogIsRefused(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
		"empty":   func([]byte) []byte { return nil },
		"flipped": func(b []byte) []byte { b[len(b)-500] ^= 2; return b },
		"zeros":   func(b []byte) []byte { clear(b[len(b)/2:]); return b },
	} {
		for state, dir := range map[string]string{"stopped": filled(t, 100), "crashed": crashed(t, 500)} {
			t.Run(name+", "+state, func(t *testing.T) {
				change(t, newest(t, dir, ".log"), damage)
				_, err := embeddedmongo.Open(dir, embeddedmongo.Options{})
				require.ErrorContains(t, err, "log of the store is damaged")
				report, err := embeddedmongo.Check(context.WithoutCancel(t.Context()), dir)
				require.NoError(t, err)
				require.NotEmpty(t, report.Damage)
			})
		}
	}
}

// crashed makes a directory with n documents as a crash leaves it.
func crashed(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	_, cl := start(t, dir, embeddedmongo.Options{})
	docs := make([]any, n)
	for i := range docs {
		docs[i] = append(runDoc(i), D{{Key: "pad", Value: strings.Repeat("x", 600)}}...)
	}
	_, err := cl.Database("d").Collection("runs").InsertMany(t.Context(), docs)
	require.NoError(t, err)
	return copyDir(t, dir)
}

// newest returns the last of the files with an extension.
func newest(t *testing.T, dir, ext string) string {
	t.Helper()
	all := files(t, dir, ext)
	require.NotEmpty(t, all)
	return all[len(all)-1]
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
	report, err := embeddedmongo.Check(context.WithoutCancel(t.Context()), dir)
	require.NoError(t, err)
	require.False(t, report.OK())
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
