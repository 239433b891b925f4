package plan

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// related is a store with runs and their owners: the run i has the owner i modulo the number of owners.
type related struct {
	t            *testing.T
	e            *storage.Engine
	runs, owners *storage.Collection
}

func newRelated(t *testing.T, runs, owners int) *related {
	t.Helper()
	e, err := storage.Open("data", storage.Options{FS: vfs.NewMem(), NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) }) // It reports open iterators.
	r := &related{t: t, e: e}
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
	r.owners = insert("owners", owners, func(i int) bson.D {
		return bson.D{{Key: "_id", Value: ownerID(i)}, {Key: "ws", Value: 1}, {Key: "kind", Value: i % 5}, {Key: "at", Value: i}}
	})
	for _, c := range []*storage.Collection{r.runs, r.owners} {
		r.create(c, "_id")
		r.create(c, "at", "_id")
		r.create(c, "kind", "_id")
	}
	return r
}

func ownerID(i int) bson.Binary {
	id := make([]byte, idBytes)
	id[0], id[1], id[2] = byte(i*37), byte(i>>8), byte(i)
	return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id}
}

func (r *related) document(d bson.D) value.Doc {
	r.t.Helper()
	raw, err := bson.Marshal(d)
	require.NoError(r.t, err)
	return value.Doc(raw)
}

// create creates an index of a workspace.
func (r *related) create(c *storage.Collection, paths ...string) {
	r.t.Helper()
	d := bson.D{{Key: "ws", Value: 1}}
	for _, path := range paths {
		d = append(d, bson.E{Key: path, Value: 1})
	}
	raw := r.document(d)
	_, err := c.CreateIndex(r.t.Context(), storage.IndexSpec{Name: storage.DefaultIndexName(raw), Key: bson.Raw(raw)}, func() error { return nil })
	require.NoError(r.t, err)
}

func (r *related) filter(conditions ...bson.E) *filter.Filter {
	r.t.Helper()
	f, err := filter.Compile(r.document(append(bson.D{{Key: "ws", Value: 1}}, conditions...)), 0)
	require.NoError(r.t, err)
	return f
}

// ofOwners is the query of runs whose owner matches.
func (r *related) ofOwners(far *filter.Filter) Query {
	r.t.Helper()
	own := r.filter()
	return Query{Filter: own.With(append(own.Conjuncts(), &filter.Related{Path: "owner", From: "owners", Foreign: "_id", Far: far}))}
}

// withRuns is the query of owners that have a matching run.
func (r *related) withRuns(far *filter.Filter) Query {
	r.t.Helper()
	own := r.filter()
	return Query{Filter: own.With(append(own.Conjuncts(), &filter.Related{Path: "_id", From: "runs", Foreign: "owner", Far: far}))}
}

func (r *related) find(name string) (*storage.Reader, error) {
	return map[string]*storage.Collection{"runs": r.runs, "owners": r.owners}[name].Reader()
}

// reader reads a collection in its present state, until the test ends.
func (r *related) reader(c *storage.Collection) *storage.Reader {
	r.t.Helper()
	rd, err := c.Reader()
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, rd.Close()) })
	return rd
}

// Values beyond the bound are probed where an index has them, with the same result, and an error elsewhere.
func TestRelationsWithManyValues(t *testing.T) {
	t.Parallel()
	const runs, owners, bound = 600, 200, 20
	for _, indexed := range []bool{true, false} {
		r := newRelated(t, runs, owners)
		if indexed {
			r.create(r.runs, "owner", "_id")
		}
		kind := func(n int) *filter.Filter { return r.filter(bson.E{Key: "kind", Value: n}) }
		for name, x := range map[string]struct {
			c    *storage.Collection
			q    Query
			want int64
			ids  bool
		}{
			"few owners":   {r.runs, r.ofOwners(r.filter(bson.E{Key: "at", Value: bson.D{{Key: "$lt", Value: bound}}})), 3 * bound, true},
			"many owners":  {r.runs, r.ofOwners(kind(1)), runs / 5, true},
			"few with run": {r.owners, r.withRuns(r.filter(bson.E{Key: "at", Value: bson.D{{Key: "$lt", Value: 1}}})), 1, false},
			"many with":    {r.owners, r.withRuns(kind(1)), owners / 5, false},
		} {
			c := r.reader(x.c)
			for _, limit := range []int64{0, 7} {
				q := x.q
				q.Limit = limit
				rel, _ := q.Filter.Conjuncts()[1].(*filter.Related)
				fresh := *rel
				q.Filter = q.Filter.With(filter.And{q.Filter.Conjuncts()[0], &fresh})
				joins, err := (&Joins{most: bound, reducedAfter: reducedAfter}).bindAll(c, &q, r.find)
				require.NoError(t, err)
				n, _, _, err := Count(c, q)
				require.NoError(t, joins.Close())
				text := fmt.Sprint(name, indexed, limit)
				if name == "many with" && !indexed {
					require.ErrorIs(t, err, errManyValues, text)
					continue
				}
				require.NoError(t, err, text)
				want := x.want
				if limit > 0 {
					want = min(want, limit)
				}
				require.Equal(t, want, n, text)
			}
		}
	}
}

// Keys whose fields before the id decide the condition and the value are combined: one of each combination is read.
func TestGatheringCombinesKeys(t *testing.T) {
	t.Parallel()
	r := newRelated(t, 6000, 6)
	r.create(r.runs, "kind", "owner", "opt")
	owners := r.reader(r.owners)
	for want, opt := range map[int64]any{2: bson.D{{Key: "$ne", Value: nil}}, 4: nil} {
		q := r.withRuns(r.filter(bson.E{Key: "opt", Value: opt}))
		joins, err := Bind(owners, &q, r.find)
		require.NoError(t, err)
		n, _, _, err := Count(owners, q)
		require.NoError(t, err)
		require.Equal(t, want, n)
		require.True(t, joins.all[0].decided())
		if want == 2 { // Null may stand for a missing field, so keys do not decide the other condition.
			require.Less(t, joins.all[0].gathered, int64(3000))
		}
		require.NoError(t, joins.Close())
	}
}

// Gathering may stop at each of its steps, whatever it reads then. Nothing stays open; closing the store would report it.
func TestGatheringStopsAtEachStep(t *testing.T) {
	t.Parallel()
	r := newRelated(t, 6000, 3000)
	r.create(r.runs, "owner", "kind")
	r.create(r.owners, "kind", "at")
	kind := bson.E{Key: "kind", Value: 1}
	others := bson.E{Key: "kind", Value: bson.D{{Key: "$ne", Value: 1}}}
	half := bson.E{Key: "at", Value: bson.D{{Key: "$lt", Value: 1500}}}
	most := bson.E{Key: "at", Value: bson.D{{Key: "$gte", Value: 200}}}
	absent := bson.E{Key: "opt", Value: nil}
	for name, x := range map[string]struct {
		c *storage.Collection
		q func() Query
	}{
		"keys":          {r.runs, func() Query { return r.ofOwners(r.filter(kind)) }},
		"existing":      {r.runs, func() Query { return r.ofOwners(r.filter(most)) }},
		"combined":      {r.runs, func() Query { return r.ofOwners(r.filter(half, others)) }},
		"groups":        {r.owners, func() Query { return r.withRuns(r.filter(kind)) }},
		"sets":          {r.owners, func() Query { return r.withRuns(r.filter(half, others)) }},
		"documents":     {r.owners, func() Query { return r.withRuns(r.filter(absent)) }},
		"nested":        {r.owners, func() Query { return r.withRuns(r.ofOwners(r.filter(most, others)).Filter) }},
		"nested, other": {r.runs, func() Query { return r.ofOwners(r.withRuns(r.filter(absent, half)).Filter) }},
	} {
		c, steps, ended := r.reader(x.c), 0, false
		for ; !ended; steps++ {
			require.Less(t, steps, 10_000, name)
			q := x.q()
			joins := &Joins{most: maxJoined}
			bound, err := joins.bind(c, &Query{}, q.Filter, r.find) // Of no query of its own, so it gathers little.
			require.NoError(t, err)
			q.Filter = bound
			s := joins.all[0]
			for range steps {
				if ended = s.decided() || s.hopeless; ended {
					break
				}
				require.NoError(t, s.gather(s.gathered+1), name)
			}
			ended = ended || s.decided()
			require.NoError(t, joins.Close(), name)
		}
	}
}

// An error of the time limit ends gathering at each step too.
func TestGatheringFailsAtEachStep(t *testing.T) {
	t.Parallel()
	r := newRelated(t, 6000, 3000)
	expired := mongoerr.New(mongoerr.MaxTimeMSExpired, "expired")
	owners := r.reader(r.owners)
	for steps := 0; ; steps++ {
		left := steps
		q := r.withRuns(r.filter(bson.E{Key: "opt", Value: nil}))
		q.Expired = func() error {
			if left--; left < 0 {
				return expired
			}
			return nil
		}
		joins, err := Bind(owners, &q, r.find)
		if err == nil {
			_, _, _, err = Count(owners, q)
		}
		require.NoError(t, joins.Close())
		if err == nil {
			break
		}
		require.ErrorIs(t, err, expired)
	}
}
