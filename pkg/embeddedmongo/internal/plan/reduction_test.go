package plan

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// A semi-join has only values of its near side in memory, where that has fewer. The results are the same, for negations too.
func TestReducedRelationsHaveTheSameResults(t *testing.T) {
	t.Parallel()
	r := newRelated(t, 1200, 4000) // Most owners have no run.
	r.create(r.runs, "owner", "kind")
	r.create(r.owners, "kind", "at")
	kind := bson.E{Key: "kind", Value: bson.D{{Key: "$in", Value: bson.A{1, 2}}}}
	others := bson.E{Key: "kind", Value: bson.D{{Key: "$ne", Value: 1}}}
	half := bson.E{Key: "at", Value: bson.D{{Key: "$lt", Value: 2000}}}
	most := bson.E{Key: "at", Value: bson.D{{Key: "$gte", Value: 200}}}
	order, err := index.CompileSort(r.document(bson.D{{Key: "_id", Value: 1}}))
	require.NoError(t, err)
	reductions := 0
	for name, x := range map[string]struct {
		c   *storage.Collection
		q   func() Query
		yes func(i int) bool
	}{
		"keys":     {r.runs, func() Query { return r.ofOwners(r.filter(kind)) }, func(i int) bool { return i%5 == 1 || i%5 == 2 }},
		"existing": {r.runs, func() Query { return r.ofOwners(r.filter(most)) }, func(i int) bool { return i >= 200 }},
		"combined": {r.runs, func() Query { return r.ofOwners(r.filter(half, others)) }, func(i int) bool { return i%5 != 1 }},
		"groups":   {r.owners, func() Query { return r.withRuns(r.filter(kind)) }, func(i int) bool { return i < 1200 && (i%5 == 1 || i%5 == 2) }},
		"nested": {
			r.owners, func() Query { return r.withRuns(r.ofOwners(r.filter(most, others)).Filter) },
			func(i int) bool { return i >= 200 && i < 1200 && i%5 != 1 },
		},
	} {
		c, n := r.reader(x.c), 1200
		if x.c == r.owners {
			n = 4000
		}
		for _, negated := range []bool{false, true} {
			var want int64
			for i := range n {
				if x.yes(i) != negated {
					want++
				}
			}
			for _, after := range []int{1, 50, maxJoined} {
				for _, limit := range []int64{0, 20, 5000} {
					q := x.q()
					q.Sort, q.Limit = order, limit
					if nodes := q.Filter.Conjuncts(); negated {
						q.Filter = q.Filter.With(filter.And{nodes[0], filter.Not{Node: nodes[1]}})
					}
					text := fmt.Sprint(name, negated, after, limit)
					joins, err := (&Joins{most: maxJoined, reducedAfter: after}).bindAll(c, &q, r.find)
					require.NoError(t, err, text)
					if limit == 0 {
						got, _, _, err := Count(c, q)
						require.NoError(t, err, text)
						require.Equal(t, want, got, text)
					} else {
						require.Equal(t, min(want, limit), r.rows(c, q), text)
					}
					for _, s := range joins.all {
						if s.reduction.reduced() {
							reductions++
							require.True(t, s.set == nil || s.set.len() <= s.reduction.values.len(), text)
						}
					}
					require.NoError(t, joins.Close(), text)
				}
			}
		}
	}
	require.Positive(t, reductions)
}

// rows is the number of rows of a query.
func (r *related) rows(c *storage.Reader, q Query) (n int64) {
	r.t.Helper()
	p, err := New(c, q)
	require.NoError(r.t, err)
	rows, err := p.Run()
	require.NoError(r.t, err)
	defer func() { require.NoError(r.t, rows.Close()) }()
	for {
		_, ok, err := rows.Next()
		require.NoError(r.t, err)
		if !ok {
			return n
		}
		n++
	}
}

// A value that the near side has only after the reduction is probed: it is neither absent nor present by the reduction.
func TestReductionsDoNotDecideLaterValues(t *testing.T) {
	t.Parallel()
	for name, far := range map[string]bson.D{
		"set":      {{Key: "kind", Value: 1}},
		"existing": {{Key: "at", Value: bson.D{{Key: "$gte", Value: 200}}}},
	} {
		r := newRelated(t, 300, 4000)
		r.create(r.runs, "owner", "_id")
		q := r.ofOwners(r.filter(far...))
		joins := &Joins{most: maxJoined, reducedAfter: 1}
		_, err := joins.bind(r.reader(r.runs), &Query{}, q.Filter, r.find)
		require.NoError(t, err)
		s := joins.all[0]
		require.NoError(t, s.gather(-1))
		require.True(t, s.reduction.reduced(), name)
		for _, i := range []int{1, 201, 301, 1001, 1003, 3999, 5001} { // Runs have the first 300 owners.
			key := value.AppendKey(nil, r.document(bson.D{{Key: "v", Value: ownerID(i)}}).Get("v"), false)
			has, err := s.Has(key)
			require.NoError(t, err)
			want := i < 4000 && (name == "set" && i%5 == 1 || name == "existing" && i >= 200)
			require.Equal(t, want, has, "%s %d", name, i)
		}
		require.NoError(t, joins.Close())
	}
}
