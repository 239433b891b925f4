package trigger

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// few returns one of a few ids, so that they come again.
func few(n int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// The ring and its table behave like a map of times and a list of the ids in the order in which they came.
func TestFinishedIsAnOrderedMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 200).Draw(t, "limit")
		f := newFinished(limit)
		times := map[uuid.UUID]int64{}
		var order []uuid.UUID
		ids := rapid.Custom(func(t *rapid.T) uuid.UUID { return few(rapid.IntRange(0, 400).Draw(t, "id")) })
		dropOldest := func() {
			delete(times, order[0])
			order = order[1:]
		}
		set := func(id uuid.UUID, at int64) {
			f.set(id, at)
			if _, exists := times[id]; !exists {
				if len(order) == limit {
					dropOldest()
				}
				order = append(order, id)
			}
			times[id] = at
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				require.Equal(t, len(order), f.count)
				at, ok := f.oldest()
				require.Equal(t, len(order) > 0, ok)
				if ok {
					require.Equal(t, times[order[0]], at)
				}
				for id, want := range times {
					at := f.find(id)
					require.NotNil(t, at)
					require.Equal(t, want, *at)
				}
			},
			"set": func(t *rapid.T) { set(ids.Draw(t, "one"), rapid.Int64().Draw(t, "at")) },
			"set many": func(t *rapid.T) {
				from := rapid.IntRange(0, 400).Draw(t, "from")
				for n := range rapid.IntRange(1, 250).Draw(t, "many") {
					set(few(from+n), int64(n))
				}
			},
			"unknown": func(t *rapid.T) {
				id := ids.Draw(t, "one")
				_, exists := times[id]
				require.Equal(t, exists, f.find(id) != nil)
			},
			"drop": func(t *rapid.T) {
				if len(order) == 0 {
					t.Skip("empty")
				}
				f.drop()
				dropOldest()
			},
			"forget": func(t *rapid.T) {
				gone := map[uuid.UUID]bool{}
				for _, id := range rapid.SliceOfN(ids, 0, 20).Draw(t, "gone") {
					gone[id] = true
					delete(times, id)
				}
				f.forget(gone)
				order = slices.DeleteFunc(order, func(id uuid.UUID) bool { return gone[id] })
			},
		})
	})
}

// A busy workspace keeps the most ids that are remembered.
func TestFinishedIDsTakeThreeMegabytes(t *testing.T) {
	t.Parallel()
	f := newFinished(maxDone)
	for n := range 3 * maxDone {
		f.set(few(n), int64(n))
	}
	require.Equal(t, maxDone, f.count)
	require.LessOrEqual(t, 24*len(f.ring)+4*len(f.table), 3_500_000)
	require.Nil(t, f.find(few(2*maxDone-1)))
	require.NotNil(t, f.find(few(2*maxDone)))
}

func BenchmarkFinished(b *testing.B) {
	f := newFinished(maxDone)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		id := few(n)
		if f.find(id) == nil {
			f.set(id, int64(n))
		}
	}
	b.ReportMetric(float64(24*len(f.ring)+4*len(f.table)), "held-bytes")
}
