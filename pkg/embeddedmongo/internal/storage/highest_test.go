package storage

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// opened is an engine in memory, closed by close.
func opened(t require.TestingT, fs vfs.FS) (e *Engine, closing func()) {
	e, err := Open("data", Options{FS: fs, NoSync: true})
	require.NoError(t, err)
	return e, func() { require.NoError(t, e.Close()) }
}

func collection(t require.TestingT, e *Engine) *Collection {
	c, err := e.Collection("d", "c")
	require.NoError(t, err)
	return c
}

// insert tells whether a document with that _id was stored: false when there was one.
func insert(c *Collection, id any, rest ...bson.E) (bool, error) {
	b, err := bson.Marshal(append(bson.D{{Key: "_id", Value: id}}, rest...))
	if err != nil {
		return false, err
	}
	err = c.Insert(c.e.Begin(true, false), value.Doc(b))
	if mongoerr.Is(err, mongoerr.DuplicateKeyKind) {
		return false, nil
	}
	return err == nil, err
}

// insertIDs inserts documents of which only the positions of their ids are given, one by one or together.
func insertIDs(c *Collection, ids []any, which []int, together bool) (stored []bool, err error) {
	var docs []value.Doc
	for _, i := range which {
		if !together {
			one, ierr := insert(c, ids[i])
			stored, err = append(stored, one), errors.Join(err, ierr)
			continue
		}
		b, merr := bson.Marshal(bson.D{{Key: "_id", Value: ids[i]}})
		docs, err = append(docs, b), errors.Join(err, merr)
	}
	if !together || err != nil {
		return stored, err
	}
	errs, _, err := insertAll(c, docs, false)
	for _, e := range errs {
		stored = append(stored, e == nil)
		if !mongoerr.Is(e, mongoerr.DuplicateKeyKind) {
			err = errors.Join(err, e)
		}
	}
	return stored, err
}

func remove(t require.TestingT, c *Collection, id any) {
	k := value.AppendKey(nil, value.Of(id), false)
	require.NoError(t, c.Modify(c.e.Begin(true, false), k, func(value.Doc) (value.Doc, Action, error) { return nil, Delete, nil }))
}

// A document is stored exactly when no document has its _id. This holds for any order of inserts and deletions and for
// any number of concurrent writers.
func TestEachIDIsStoredOnce(t *testing.T) {
	t.Parallel()
	ids := []any{bson.MinKey{}, -1, 2, 3.5, 4, 1 << 40, "", "a", "b", "z", bson.D{{Key: "x", Value: 1}}, bson.Binary{Data: []byte{9}}, bson.NewObjectID(), true}
	rapid.Check(t, func(rt *rapid.T) {
		fs := vfs.NewMem()
		e, closing := opened(rt, fs)
		defer func() { closing() }()
		there := map[int]bool{}
		drawn := func(name string, atMost int) []int {
			return rapid.SliceOfNDistinct(rapid.IntRange(0, len(ids)-1), 1, atMost, rapid.ID[int]).Draw(rt, name)
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"insert", "insert", "insert", "delete", "reopen", "drop"}).Draw(rt, "step") {
			case "insert":
				brought := make([]atomic.Int64, len(ids))
				won := make([]atomic.Int64, len(ids))
				var wg sync.WaitGroup
				c := collection(rt, e)
				errs := make([]error, rapid.IntRange(1, 4).Draw(rt, "writers"))
				batches := make([][]int, len(errs))
				for w := range batches {
					batches[w] = drawn("inserted", 5)
				}
				together := rapid.Bool().Draw(rt, "together")
				for w, mine := range batches {
					wg.Go(func() {
						var stored []bool
						stored, errs[w] = insertIDs(c, ids, mine, together)
						for at, i := range mine {
							brought[i].Add(1)
							if stored[at] {
								won[i].Add(1)
							}
						}
					})
				}
				wg.Wait()
				require.NoError(rt, errors.Join(errs...))
				for i := range ids {
					want := int64(0)
					if brought[i].Load() > 0 && !there[i] {
						want = 1
					}
					require.Equal(rt, want, won[i].Load(), "documents stored with the _id %v", ids[i])
					there[i] = there[i] || want == 1
				}
			case "delete":
				for _, i := range drawn("deleted", 4) {
					remove(rt, collection(rt, e), ids[i])
					delete(there, i)
				}
			case "reopen":
				closing()
				e, closing = opened(rt, fs)
			case "drop":
				require.NoError(rt, e.Drop(collection(rt, e)))
				clear(there)
			}
		}
		n := int64(0)
		for i := range there {
			if there[i] {
				n++
			}
		}
		require.Equal(rt, n, collection(rt, e).Count())
		sound(rt, e)
	})
}

// A document that could not be stored leaves the bound raised, which must not keep others from being found.
func TestFailedInsertLeavesNoTrace(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	_, err := c.CreateIndex(t.Context(), IndexSpec{Name: "k", Key: bson.Raw(encoded(t, bson.D{{Key: "k", Value: 1}})), Unique: true}, noTurns)
	require.NoError(t, err)
	one := bson.E{Key: "k", Value: 1}
	for _, x := range []struct {
		id     any
		k      bson.E
		stored bool
	}{
		{5, one, true},
		{9, one, false}, // Its key is taken.
		{7, bson.E{Key: "k", Value: 7}, true},
		{9, bson.E{Key: "k", Value: 9}, true},
		{9, bson.E{Key: "k", Value: 10}, false},
		{7, bson.E{Key: "k", Value: 11}, false},
	} {
		t.Run(fmt.Sprint(x.id), func(t *testing.T) {
			stored, err := insert(c, x.id, x.k)
			require.NoError(t, err)
			require.Equal(t, x.stored, stored, fmt.Sprint(x.id, x.k))
		})
	}
}

// The look for what is most likely not there is left out above all ids, and only there.
func TestBoundIsOfAllDocuments(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	e, closing := opened(t, fs)
	defer func() { closing() }()
	below := func(id any) bool {
		c := collection(t, e)
		b, err := c.highest.below(c, value.AppendKey(nil, value.Of(id), false))
		require.NoError(t, err)
		return b
	}
	require.True(t, below(1), "there is no document")
	for _, id := range []any{3, 5, 4} {
		_, err := insert(collection(t, e), id)
		require.NoError(t, err)
	}
	require.False(t, below(4))
	require.False(t, below(5))
	require.True(t, below(6))
	remove(t, collection(t, e), 5)
	require.False(t, below(5), "a bound stays when the last document goes")
	closing()
	e, closing = opened(t, fs)
	require.True(t, below(5), "and is read anew")
	require.False(t, below(4))
}
