package plan

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// runStore is a store with runs: the run i has the owner i modulo the number of owners.
type runStore struct {
	t    *testing.T
	e    *storage.Engine
	runs *storage.Collection
}

func newRunStore(t *testing.T, runs, owners int) *runStore {
	t.Helper()
	e, err := storage.Open("data", storage.Options{FS: vfs.NewMem(), NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) }) // It reports open iterators.
	r := &runStore{t: t, e: e}
	insert := func(name string, n int, document func(i int) bson.D) *storage.Collection {
		c, err := e.Collection("d", name)
		require.NoError(t, err)
		var docs []value.Doc
		for i := range n {
			docs = append(docs, r.document(document(i)))
		}
		for len(docs) > 0 {
			inserted, err := c.InsertMany(e.Begin(true, false), docs, true, nil)
			require.NoError(t, err)
			docs = docs[len(inserted):]
		}
		require.EqualValues(t, n, c.Count())
		return c
	}
	r.runs = insert("runs", runs, func(i int) bson.D {
		d := bson.D{{Key: "_id", Value: ownerID(i)}, {Key: "ws", Value: 1}, {Key: "owner", Value: ownerID(i % owners)}, {Key: "at", Value: i * 7919 % runs}, {Key: "kind", Value: i % 5}}
		if i%3 == 0 {
			d = append(d, bson.E{Key: "opt", Value: "x"})
		}
		return d
	})
	r.create(r.runs, "_id")
	r.create(r.runs, "at", "_id")
	r.create(r.runs, "kind", "_id")
	return r
}

func ownerID(i int) bson.Binary {
	id := make([]byte, 16)
	id[0], id[1], id[2] = byte(i*37), byte(i>>8), byte(i)
	return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id}
}

func (r *runStore) document(d bson.D) value.Doc {
	r.t.Helper()
	raw, err := bson.Marshal(d)
	require.NoError(r.t, err)
	return value.Doc(raw)
}

// create creates an index of a workspace.
func (r *runStore) create(c *storage.Collection, paths ...string) {
	r.t.Helper()
	d := bson.D{{Key: "ws", Value: 1}}
	for _, path := range paths {
		d = append(d, bson.E{Key: path, Value: 1})
	}
	raw := r.document(d)
	_, err := c.CreateIndex(r.t.Context(), storage.IndexSpec{Name: storage.DefaultIndexName(raw), Key: bson.Raw(raw)}, func() error { return nil })
	require.NoError(r.t, err)
}

func (r *runStore) filter(conditions ...bson.E) *filter.Filter {
	r.t.Helper()
	f, err := filter.Compile(r.document(append(bson.D{{Key: "ws", Value: 1}}, conditions...)))
	require.NoError(r.t, err)
	return f
}

func (r *runStore) reader(c *storage.Collection) *storage.Reader {
	r.t.Helper()
	rd, err := c.Reader()
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, rd.Close()) })
	return rd
}

func (r *runStore) index(name string) *storage.Index {
	r.t.Helper()
	for _, ix := range r.runs.Indexes() {
		if ix.Spec.Name == name {
			return ix
		}
	}
	require.Fail(r.t, "no index", name)
	return nil
}
