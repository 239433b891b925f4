package embeddedmongo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

const (
	// backedUp documents have the version 1 in the backup; half of them get the version 2 later, when added ones are inserted.
	backedUp, added = 8000, 2000
)

// damageable makes a closed directory of tables, one as a crash leaves it, whose log has writes, and an earlier backup.
func damageable(t *testing.T) (dir, crashed, backup string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	dir, backup = filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "backup")
	s, err := embeddedmongo.Open(dir, embeddedmongo.Options{})
	require.NoError(t, err)
	cl := connect(t, s)
	c := cl.Database("d").Collection("runs")
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "group", Value: 1}, {Key: "version", Value: 1}}})
	require.NoError(t, err)
	_, err = c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: D{{Key: "tags", Value: 1}}})
	require.NoError(t, err)
	insert := func(from, n int) {
		docs := make([]any, n)
		for i := range docs {
			docs[i] = D{
				{Key: "_id", Value: fmt.Sprintf("run %05d", from+i)},
				{Key: "version", Value: 1},
				{Key: "group", Value: (from + i) % 7},
				{Key: "tags", Value: A{"all", fmt.Sprint(i % 3)}},
				{Key: "pad", Value: strings.Repeat(fmt.Sprintf("%05d", from+i), 150)},
			}
		}
		_, err := c.InsertMany(ctx, docs, options.InsertMany().SetOrdered(false))
		require.NoError(t, err)
	}
	insert(0, backedUp)
	require.NoError(t, s.Backup(ctx, backup))
	_, err = c.UpdateMany(ctx, M{"group": M{"$in": A{0, 1, 2}}}, M{"$set": M{"version": 2}})
	require.NoError(t, err)
	insert(backedUp, added)
	crashed = copyDir(t, dir)
	require.NoError(t, cl.Disconnect(ctx))
	require.NoError(t, s.Close())
	return dir, crashed, backup
}

// versions reads all documents, and checks that each is whole.
func versions(t *testing.T, dir string) map[string]int {
	t.Helper()
	s, cl := start(t, dir, embeddedmongo.Options{})
	report, err := s.Check(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	require.True(t, report.OK(), "%v", report)
	cur, err := cl.Database("d").Collection("runs").Find(context.WithoutCancel(t.Context()), M{})
	require.NoError(t, err)
	var docs []struct {
		ID      string `bson:"_id"`
		Version int
		Pad     string
	}
	require.NoError(t, cur.All(context.WithoutCancel(t.Context()), &docs))
	all := map[string]int{}
	for _, d := range docs {
		require.Equal(t, strings.Repeat(strings.TrimPrefix(d.ID, "run "), 150), d.Pad)
		all[d.ID] = d.Version
	}
	return all
}

// copyDir copies the files of a directory, so that they can be damaged.
func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "damaged")
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

// change rewrites a file.
func change(t *testing.T, path string, do func(content []byte) []byte) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, do(content), 0o600))
}

func TestRebuildNamesWhatDamageTook(t *testing.T) {
	t.Parallel()
	dir, crashed, backup := damageable(t)
	whole := versions(t, copyDir(t, dir))
	old := versions(t, copyDir(t, backup))
	flip := func(at float64) func([]byte) []byte {
		return func(b []byte) []byte { b[int(float64(len(b)-1)*at)] ^= 0x10; return b }
	}
	cut := func(at float64) func([]byte) []byte {
		return func(b []byte) []byte { return b[:int(float64(len(b))*at)] }
	}
	for suffix, from := range map[string]string{".sst": dir, ".log": crashed} {
		for name, damage := range map[string]func([]byte) []byte{
			"flipped early": flip(0.2), "flipped": flip(0.6), "flipped at the end": flip(1), "cut off": cut(0.7), "empty": cut(0),
			"zeros": func(b []byte) []byte { clear(b[len(b)/3 : len(b)/2]); return b },
		} {
			t.Run(suffix+" "+name, func(t *testing.T) {
				damaged := copyDir(t, from)
				all := files(t, damaged, suffix)
				require.NotEmpty(t, all)
				change(t, all[len(all)-1], damage)
				requireRebuilt(t, damaged, backup, whole, old)
			})
		}
	}
	t.Run("missing table", func(t *testing.T) {
		damaged := copyDir(t, dir)
		require.NoError(t, os.Remove(files(t, damaged, ".sst")[0]))
		requireRebuilt(t, damaged, backup, whole, old)
	})
}

// requireRebuilt checks that a damaged directory is reported, and that its rebuilt one has every document: as it was at last, or as it
// was in the backup and named so.
func requireRebuilt(t *testing.T, damaged, backup string, whole, old map[string]int) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	report, checkErr := embeddedmongo.Check(ctx, damaged)
	rebuiltDir := filepath.Join(t.TempDir(), "rebuilt")
	rebuilt, err := embeddedmongo.Rebuild(ctx, damaged, backup, rebuiltDir)
	require.NoError(t, err)
	got := versions(t, rebuiltDir)
	var named []string
	for _, c := range rebuilt.Collections {
		for _, id := range append(slices.Clone(c.FromBackup), c.Lost...) {
			named = append(named, strings.Trim(id, `"`))
		}
	}
	logged := slices.ContainsFunc(rebuilt.Damage, func(d string) bool { return strings.Contains(d, ".log") })
	different := 0
	for id, version := range whole {
		if got[id] == version {
			continue
		}
		different++
		require.Equal(t, old[id], got[id], "%s is neither the last version nor that of the backup", id)
		require.True(t, rebuilt.Unreadable || logged || slices.Contains(named, id), "%s is not named; damage: %v", id, rebuilt.Damage)
	}
	t.Logf("damage %v (unreadable: %t), %d named, %d of %d documents are not the last version", rebuilt.Damage, rebuilt.Unreadable, len(named), different, len(whole))
	if different > 0 {
		require.True(t, checkErr != nil || !report.OK(), "the check reports no damage")
	}
}

func TestRebuildWithoutABackup(t *testing.T) {
	t.Parallel()
	dir, _, _ := damageable(t)
	whole := versions(t, copyDir(t, dir))
	damaged := copyDir(t, dir)
	tables := files(t, damaged, ".sst")
	change(t, tables[0], func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	to := filepath.Join(t.TempDir(), "rebuilt")
	rebuilt, err := embeddedmongo.Rebuild(context.WithoutCancel(t.Context()), damaged, "", to)
	require.NoError(t, err)
	require.NotEmpty(t, rebuilt.Damage)
	got := versions(t, to)
	require.Len(t, got, len(whole)-len(rebuilt.Collections[0].Lost))
	_, err = embeddedmongo.Rebuild(context.WithoutCancel(t.Context()), damaged, "", to)
	require.ErrorIs(t, err, os.ErrExist, "nothing is overwritten")
}

// A log that goes on behind its damage is read up to there, and the damage is named.
func TestRebuildReadsALogUpToItsDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, cl := start(t, dir, embeddedmongo.Options{})
	c := cl.Database("d").Collection("runs")
	const documents = 400
	for i := range documents { // One sync each.
		_, err := c.InsertOne(t.Context(), M{"_id": i, "pad": strings.Repeat("x", 500)})
		require.NoError(t, err)
	}
	damaged := copyDir(t, dir)
	change(t, newest(t, damaged, ".log"), func(b []byte) []byte { b[len(b)*2/3] ^= 1; return b })
	to := filepath.Join(t.TempDir(), "rebuilt")
	rebuilt, err := embeddedmongo.Rebuild(context.WithoutCancel(t.Context()), damaged, "", to)
	require.NoError(t, err)
	require.NotEmpty(t, rebuilt.Damage)
	require.Contains(t, strings.Join(rebuilt.Damage, " "), ".log")
	require.GreaterOrEqual(t, rebuilt.Collections[0].Documents, int64(documents/2))
}
