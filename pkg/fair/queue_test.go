package fair_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/fair"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestQueueOrdersByFinishAndArrival compares a queue with a sorted list.
func TestQueueOrdersByFinishAndArrival(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var q fair.Queue[int]
		var model []*fair.Item[int] // In the order of arrival.
		first := func() *fair.Item[int] {
			if len(model) == 0 {
				return nil
			}
			return slices.MinFunc(model, func(a, b *fair.Item[int]) int { return int(a.Finish) - int(b.Finish) })
		}
		for n := range rapid.IntRange(1, 100).Draw(rt, "steps") {
			if len(model) == 0 || rapid.Bool().Draw(rt, "push") {
				model = append(model, q.Push(n, float64(rapid.IntRange(0, 9).Draw(rt, "finish"))))
			} else {
				i := rapid.IntRange(0, len(model)-1).Draw(rt, "remove")
				require.True(rt, q.Remove(model[i]))
				require.False(rt, q.Remove(model[i]), "it has left")
				model = slices.Delete(model, i, i+1)
			}
			require.Equal(rt, len(model), q.Len())
			require.Same(rt, first(), q.First())
		}
	})
}
