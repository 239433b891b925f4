package storage

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// recorder counts the bytes written to tables of backups. A backup also copies the log, which may be a recycled file: then it is as large
// as the log that used the file before.
type recorder struct {
	vfs.FS
	in      string
	written int64
}

func (r *recorder) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := r.FS.Create(name, c)
	if err != nil || !strings.HasPrefix(name, r.in) || !strings.HasSuffix(name, tableSuffix) {
		return f, err
	}
	return &recorded{f, r}, nil
}

type recorded struct {
	vfs.File
	r *recorder
}

func (f *recorded) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.r.written += int64(n)
	return n, err
}

// Link fails from the store to a backup, as between two file systems.
func (r *recorder) Link(from, to string) error {
	if strings.HasPrefix(to, r.in) && !strings.HasPrefix(from, r.in) {
		return os.ErrInvalid
	}
	return r.FS.Link(from, to)
}

// stored inserts some documents with new ids, and returns how many the collection has.
func stored(t *testing.T, c *Collection, n int) int64 {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(c.Count())))
	pad := make([]byte, 512)
	var docs []value.Doc
	for i := range n {
		for j := range pad {
			pad[j] = byte(random.Uint32())
		}
		id := binary.BigEndian.AppendUint64(nil, uint64(c.Count())+uint64(i))
		docs = append(docs, encoded(t, bson.D{{Key: "_id", Value: id}, {Key: "pad", Value: pad}}))
	}
	_, _, err := insertAll(c, docs, false)
	require.NoError(t, err)
	require.NoError(t, c.e.db.Flush())
	return c.Count()
}

// The second backup writes little, and each of a chain is complete.
func TestIncrementalBackup(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	fs := &recorder{FS: vfs.Default, in: filepath.Join(root, "backups")}
	require.NoError(t, os.MkdirAll(fs.in, 0o700))
	at := func(name string) string { return filepath.Join(fs.in, name) }
	e, err := Open(filepath.Join(root, "data"), Options{FS: fs, NoSync: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	c := collection(t, e)
	want := map[string]int64{}
	for name, base := range map[string]string{"missing": "x", "relative": "backups"} {
		require.Error(t, e.Backup(t.Context(), at(name), base))
	}

	want["full"] = stored(t, c, 8000)
	require.NoError(t, e.Compact(t.Context()))
	require.NoError(t, e.Backup(t.Context(), at("full"), ""))
	full := fs.written
	require.Greater(t, full, int64(8000*512))
	for _, link := range [][2]string{{"second", "full"}, {"third", "second"}} {
		want[link[0]] = stored(t, c, 10)
		fs.written = 0
		require.NoError(t, e.Backup(t.Context(), at(link[0]), at(link[1])))
		require.Less(t, fs.written, full/10, link[0])
	}
	require.NoError(t, os.RemoveAll(at("second")), "the others do not need it")
	delete(want, "second")
	for name, documents := range want {
		dir := filepath.Join(root, "restored", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(at(name), "999999.sst"), []byte("of another store"), 0o600))
		require.NoError(t, Restore(t.Context(), fs, at(name), dir))
		require.NoFileExists(t, filepath.Join(dir, "999999.sst"), "what the list does not have is left out")
		restored, err := Open(dir, Options{})
		require.NoError(t, err)
		reports, err := restored.Check(t.Context())
		require.NoError(t, err)
		require.Len(t, reports, 1)
		require.Empty(t, reports[0].Problems)
		require.Equal(t, documents, reports[0].Documents, name)
		require.NoError(t, restored.Close())
	}

	path := damage(t, at("third"))
	err = e.Backup(t.Context(), at("fourth"), at("third"))
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, path)
	err = Restore(t.Context(), fs, at("third"), filepath.Join(root, "again"))
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, path)
	require.NoError(t, os.Remove(path))
	require.ErrorContains(t, Restore(t.Context(), fs, at("third"), filepath.Join(root, "more")), path+" is missing")
	require.NoDirExists(t, filepath.Join(root, "data", snapshotDir))
}

// tableReads counts the tables that are opened below a directory.
type tableReads struct {
	vfs.FS
	in    string
	count int
}

func (r *tableReads) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if strings.HasPrefix(name, r.in) && strings.HasSuffix(name, tableSuffix) {
		r.count++
	}
	return r.FS.Open(name, opts...)
}

// A backup does not read the tables that its base shares with the store.
func TestSharedTablesAreNotRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	fs := &tableReads{FS: vfs.Default, in: filepath.Join(root, "backups")}
	require.NoError(t, os.MkdirAll(fs.in, 0o700))
	full, second := filepath.Join(fs.in, "full"), filepath.Join(fs.in, "second")
	e, err := Open(filepath.Join(root, "data"), Options{FS: fs, NoSync: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	stored(t, collection(t, e), 1000)
	require.NoError(t, e.Backup(t.Context(), full, ""))
	require.NoError(t, e.Backup(t.Context(), second, full))
	require.Zero(t, fs.count)
	require.NoError(t, Restore(t.Context(), fs, second, filepath.Join(root, "restored")))
	require.NotZero(t, fs.count, "a restore verifies checksums")
}

// damage changes one byte of the largest table of a backup, and returns its path.
func damage(t *testing.T, backup string) (path string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(backup, "*"+tableSuffix))
	require.NoError(t, err)
	var largest int64
	for _, name := range names {
		info, err := os.Stat(name)
		require.NoError(t, err)
		if info.Size() > largest {
			path, largest = name, info.Size()
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, largest/2)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{b[0] + 1}, largest/2)
	require.NoError(t, err)
	_, err = f.Seek(0, io.SeekStart)
	require.NoError(t, err)
	return path
}
