package plan

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// insert writes runs with the values of one field.
func (r *runStore) insert(field string, values ...any) {
	r.t.Helper()
	w := r.e.Begin(false, true)
	for _, v := range values {
		require.NoError(r.t, r.runs.Insert(w, r.document(bson.D{{Key: "_id", Value: bson.NewObjectID()}, {Key: "ws", Value: 1}, {Key: field, Value: v}})))
	}
}

func numbers(from, to int) (list []any) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// A write or a drop between plan and reading changes no result: the plan, the keys and the counters are of one state.
func TestPlansReadTheirState(t *testing.T) {
	t.Parallel()
	between := map[string]func(r *runStore, ix *storage.Index) error{
		"first array": func(r *runStore, _ *storage.Index) error {
			r.insert("v", bson.A{150, 151, 152})
			return nil
		},
		"documents": func(r *runStore, _ *storage.Index) error {
			r.insert("v", numbers(0, 50)...)
			r.insert("v", numbers(100, 150)...)
			return nil
		},
		"dropped index": func(r *runStore, ix *storage.Index) error {
			_, err := r.runs.DropIndexes(func(k *storage.Index) bool { return k == ix })
			return err
		},
		"dropped collection": func(r *runStore, _ *storage.Index) error { return r.e.Drop(r.runs) },
	}
	queries := map[string]func(r *runStore, c *storage.Reader, q Query, change func()) int{
		"find": func(r *runStore, c *storage.Reader, q Query, change func()) int {
			p, err := New(c, q)
			require.NoError(r.t, err)
			change()
			rows, err := p.Run()
			require.NoError(r.t, err)
			found, err := rows.All()
			require.NoError(r.t, errors.Join(err, rows.Close()))
			return len(found)
		},
		"count": func(r *runStore, c *storage.Reader, q Query, change func()) int {
			change()
			n, _, _, err := Count(c, q)
			require.NoError(r.t, err)
			return int(n)
		},
		"distinct": func(r *runStore, c *storage.Reader, q Query, change func()) int {
			change()
			list, _, _, err := Distinct(c, q, "v")
			require.NoError(r.t, err)
			return len(list)
		},
		"groups": func(r *runStore, c *storage.Reader, q Query, change func()) int {
			change()
			list, _, p, err := Groups(c, q, "v", 0)
			require.NoError(r.t, err)
			if p == nil {
				return 100 // The keys of numbers do not tell their types, so documents are grouped.
			}
			return len(list)
		},
	}
	for change, f := range between {
		for name, run := range queries {
			t.Run(change+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := newRunStore(t, 10, 10)
				r.create(r.runs, "v")
				r.insert("v", numbers(0, 200)...)
				ix := r.index("ws_1_v_1")
				q := Query{Filter: r.filter(bson.E{Key: "v", Value: bson.D{{Key: "$gte", Value: 100}}}), Hint: value.Of("ws_1_v_1")}
				require.Equal(t, 100, run(r, r.reader(r.runs), q, func() { require.NoError(t, f(r, ix)) }))
			})
		}
	}
}

// Concurrent insertions and removals do not change a count: it is the number of documents in its snapshot.
func TestCountsAreOfOneMoment(t *testing.T) {
	t.Parallel()
	const all = 20_000
	bounds := func(from, to int) bson.E {
		return bson.E{Key: "v", Value: bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: to}}}
	}
	r := newRunStore(t, 0, 10)
	r.create(r.runs, "v")
	r.insert("v", numbers(0, all)...)
	changed := false
	change := func() error { // It is called while the count walks.
		if changed {
			return nil
		}
		changed = true
		r.insert("v", numbers(all, all+500)...)
		w := r.e.Begin(false, true)
		for _, id := range r.ids(bounds(0, 100), bounds(all/2, all/2+100)) {
			err := r.runs.Modify(w, id, func(value.Doc) (value.Doc, storage.Action, error) { return nil, storage.Delete, nil })
			require.NoError(t, err)
		}
		return nil
	}
	n, how, _, err := Count(r.reader(r.runs), Query{Filter: r.filter(bounds(100, all)), Expired: change})
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, "COUNT_SCAN", how)
	require.EqualValues(t, all-100, n)
}

// ids lists the encoded ids of the runs that match one of several conditions.
func (r *runStore) ids(alternatives ...bson.E) (list [][]byte) {
	r.t.Helper()
	rd, err := r.runs.Reader()
	require.NoError(r.t, err)
	defer rd.Close()
	for _, condition := range alternatives {
		p, err := New(rd, Query{Filter: r.filter(condition)})
		require.NoError(r.t, err)
		rows, err := p.Run()
		require.NoError(r.t, err)
		found, err := rows.All()
		require.NoError(r.t, errors.Join(err, rows.Close()))
		for _, row := range found {
			list = append(list, row.ID)
		}
	}
	return list
}
