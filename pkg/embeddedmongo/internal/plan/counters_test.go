package plan

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// A counter of one index tells the number of keys of others with the same leading fields, unless they have other documents.
func TestCountersOfOtherIndexes(t *testing.T) {
	t.Parallel()
	r := newRunStore(t, 3000, 30)
	r.create(r.runs, "kind", "at")
	r.create(r.runs, "at", "kind")
	keys := r.document(bson.D{{Key: "ws", Value: 1}, {Key: "kind", Value: 1}, {Key: "opt", Value: 1}})
	_, err := r.runs.CreateIndex(t.Context(), storage.IndexSpec{Name: "sparse", Key: bson.Raw(keys), Sparse: true}, func() error { return nil })
	require.NoError(t, err)
	runs := r.counted(r.index("ws_1_kind_1__id_1"), 2)
	kind := conjoin(r.filter(bson.E{Key: "kind", Value: 1}))
	for name, want := range map[string]bool{"ws_1_kind_1__id_1": true, "ws_1_kind_1_at_1": true, "ws_1_at_1_kind_1": false, "sparse": false} {
		p := candidate(runs, Query{}, kind, r.index(name), true)
		if p == nil {
			require.Equal(t, "sparse", name)
			p = &Plan{c: runs, ix: r.index(name)}
		}
		n, ok, err := p.counters([][]byte{candidate(runs, Query{}, kind, r.index("ws_1_kind_1__id_1"), true).spans[0].lo[storage.IndexHeader:]}, 2)
		require.NoError(t, err)
		require.Equal(t, want, ok, name)
		if want {
			require.EqualValues(t, 600, n, name)
		}
	}
}

// counted reads the runs once an index has counters of the prefixes of n fields, which are made in the background.
func (r *runStore) counted(ix *storage.Index, n int) *storage.Reader {
	r.t.Helper()
	r.runs.KeepPrefixCounts(ix, n)
	for {
		runs := r.reader(r.runs)
		_, ok, err := runs.PrefixCounts(ix, n, nil)
		require.NoError(r.t, err)
		if ok {
			return runs
		}
		runtime.Gosched()
	}
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
