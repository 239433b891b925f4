package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// insertAll inserts documents by as few batches as they need, and tells how many those were.
func insertAll(c *Collection, docs []value.Doc, ordered bool) (errs []error, batches int, err error) {
	w := c.e.Begin(true, len(docs) > 1)
	for len(errs) < len(docs) {
		dealt := len(errs)
		if errs, err = c.InsertMany(w, docs[dealt:], ordered, errs); err != nil {
			return errs, batches, err
		}
		if batches++; ordered && errs[len(errs)-1] != nil {
			break
		}
	}
	return errs, batches, w.Wait()
}

// indexed makes a collection with indexes of each kind.
func indexed(t tester, e *Engine, name string) *Collection {
	c, err := e.Collection("d", name)
	require.NoError(t, err)
	for _, x := range []struct {
		key    bson.D
		unique bool
		sparse bool
	}{
		{key: bson.D{{Key: "a", Value: 1}, {Key: "b", Value: -1}}},
		{key: bson.D{{Key: "t", Value: 1}}},
		{key: bson.D{{Key: "u", Value: 1}}, unique: true, sparse: true},
		{key: bson.D{{Key: "v", Value: 1}, {Key: "a", Value: 1}}, unique: true, sparse: true},
	} {
		key, err := bson.Marshal(x.key)
		require.NoError(t, err)
		_, err = c.CreateIndex(t.Context(), IndexSpec{Name: DefaultIndexName(key), Key: key, Unique: x.unique, Sparse: x.sparse}, noTurns)
		require.NoError(t, err)
	}
	return c
}

// contents are all documents in the order of their ids.
func contents(t require.TestingT, c *Collection) []string {
	r, err := c.Reader()
	require.NoError(t, err)
	defer r.Close()
	it, err := r.View().Docs()
	require.NoError(t, err)
	var all []string
	for ok := it.First(); ok; ok = it.Next() {
		all = append(all, string(it.Value()))
	}
	return all
}

// tester is the T of a test, or of one try of a property.
type tester interface {
	require.TestingT
	Context() context.Context
}

func sound(t tester, e *Engine) {
	reports, err := e.Check(t.Context())
	require.NoError(t, err)
	for _, r := range reports {
		require.Empty(t, r.Problems)
	}
}

func newDocument(t *rapid.T) value.Doc {
	d := bson.D{}
	add := func(name string, fields ...any) {
		if v := rapid.SampledFrom(fields).Draw(t, name); v != nil {
			d = append(d, bson.E{Key: name, Value: v})
		}
	}
	add("_id", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "a", "b", bson.A{1}, nil)
	add("a", 1, 2, bson.A{1, 2}, nil)
	add("b", 1, bson.A{3, 4}, nil)
	add("t", "x", bson.A{"x", "y"}, bson.A{}, nil)
	add("u", nil, nil, 1, 2, bson.A{1, 3}, bson.A{4, 4})
	add("v", nil, nil, 1, 2)
	b, err := bson.Marshal(d)
	require.NoError(t, err)
	return b
}

// Inserting documents together has the result of inserting them one after another: the same ones are stored, and the others get
// the same errors.
func TestInsertManyIsManyInserts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e, closing := opened(rt, vfs.NewMem())
		defer closing()
		alone, together := indexed(rt, e, "c"), indexed(rt, e, "together")
		together.Name = alone.Name // So that they tell the same.
		for range rapid.IntRange(1, 4).Draw(rt, "commands") {
			docs := rapid.SliceOfN(rapid.Custom(newDocument), 1, 12).Draw(rt, "documents")
			ordered := rapid.Bool().Draw(rt, "ordered")
			var want []string
			for _, d := range docs {
				err := alone.Insert(e.Begin(true, false), d)
				want = append(want, fmt.Sprint(err))
				if err != nil && ordered {
					break
				}
			}
			errs, _, err := insertAll(together, docs, ordered)
			require.NoError(rt, err)
			var got []string
			for _, err := range errs {
				got = append(got, fmt.Sprint(err))
			}
			require.Equal(rt, want, got)
		}
		require.Equal(rt, contents(rt, alone), contents(rt, together))
		require.Equal(rt, alone.Count(), together.Count())
		together.Name = "together"
		sound(rt, e)
	})
}

// Batches are bounded by documents and bytes, and documents that nothing parts share them.
func TestInsertManyFillsBatches(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ docs, pad, batches int }{
		"one":            {1, 0, 1},
		"few":            {MaxInserted, 0, 1},
		"many":           {3*MaxInserted + 1, 0, 4},
		"large":          {10, maxInsertedBytes/5 - 100, 2},
		"one very large": {2, 4 << 20, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, closing := opened(t, vfs.NewMem())
			defer closing()
			c := indexed(t, e, "c")
			var docs []value.Doc
			for i := range x.docs {
				docs = append(docs, encoded(t, bson.D{{Key: "_id", Value: x.docs - i}, {Key: "u", Value: i}, {Key: "pad", Value: strings.Repeat("x", x.pad)}}))
			}
			errs, batches, err := insertAll(c, docs, false)
			require.NoError(t, errors.Join(append(errs, err)...))
			require.Equal(t, x.batches, batches)
			require.EqualValues(t, x.docs, c.Count())
			errs, _, err = insertAll(c, docs, false)
			require.NoError(t, err)
			for _, err := range errs {
				require.True(t, mongoerr.Is(err, mongoerr.DuplicateKeyKind), err)
			}
			sound(t, e)
		})
	}
}

// Batches that have documents and unique keys in common, in all orders, beside writes of single documents, the making of
// indexes and the end of the collection: nobody waits for ever, and what is left is sound.
func TestInsertManyBesideOtherWrites(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	rounds := 200
	if testing.Short() {
		rounds = 40
	}
	again := func(f func(c *Collection) error) error {
		c, err := e.Collection("d", "c")
		if err != nil {
			return err
		}
		if err = f(c); errors.Is(err, ErrDropped) {
			return nil
		}
		return err
	}
	indexed(t, e, "c")
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for round := range rounds {
				var docs []value.Doc
				for i := range 40 {
					n := (i*(w+1)*7 + round) % 61
					b, _ := bson.Marshal(bson.D{{Key: "_id", Value: n}, {Key: "a", Value: i % 3}, {Key: "u", Value: bson.A{n * 5 % 67, n % 13}}, {Key: "v", Value: n % 40}})
					docs = append(docs, b)
				}
				err := again(func(c *Collection) error {
					_, _, err := insertAll(c, docs, false)
					return err
				})
				if err == nil {
					n := (round * w) % 61
					id := value.AppendKey(nil, value.Of(n), false)
					err = again(func(c *Collection) error {
						return c.Modify(e.Begin(true, false), id, func(value.Doc) (value.Doc, Action, error) {
							if round%2 == 0 {
								return nil, Delete, nil
							}
							b, err := bson.Marshal(bson.D{{Key: "_id", Value: n}, {Key: "v", Value: round % 40}})
							return b, Replace, err
						})
					})
					if mongoerr.Is(err, mongoerr.DuplicateKeyKind) {
						err = nil
					}
				}
				if err == nil && w == 0 && round%20 == 19 {
					err = again(e.Drop)
				}
				if err == nil && w == 1 && round%10 == 9 {
					key, _ := bson.Marshal(bson.D{{Key: fmt.Sprint("f", round), Value: 1}})
					err = again(func(c *Collection) error {
						_, err := c.CreateIndex(t.Context(), IndexSpec{Name: fmt.Sprint(round), Key: key}, noTurns)
						return err
					})
				}
				if errs[w] = errors.Join(errs[w], err); errs[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	sound(t, e)
}
