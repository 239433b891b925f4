package workpools

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func priorities(pairs ...any) []*orchv1.WorkQueuePriority {
	var list []*orchv1.WorkQueuePriority
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, &orchv1.WorkQueuePriority{QueueId: pairs[i].(string), Priority: int64(pairs[i+1].(int))})
	}
	return list
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before []*orchv1.WorkQueuePriority
		at     int64
		want   []*orchv1.WorkQueuePriority
	}{
		"the first":                    {nil, 1, priorities("q", 1)},
		"at the end":                   {priorities("a", 1), 5, priorities("a", 1, "q", 5)},
		"neighbours move up":           {priorities("a", 1, "b", 2), 1, priorities("q", 1, "a", 2, "b", 3)},
		"only as far as needed":        {priorities("a", 1, "b", 5), 1, priorities("q", 1, "a", 2, "b", 5)},
		"a queue leaves its old place": {priorities("q", 1, "a", 2), 3, priorities("a", 2, "q", 3)},
		"into a gap":                   {priorities("a", 1, "b", 5), 3, priorities("a", 1, "q", 3, "b", 5)},
	} {
		t.Run(name, func(t *testing.T) {
			got := setPriority(c.before, "q", c.at)
			require.Equal(t, fmt.Sprint(c.want), fmt.Sprint(got), name)
		})
	}
	require.Equal(t, int64(1), firstFree(nil))
	require.Equal(t, int64(2), firstFree(priorities("a", 1, "b", 3)))
	require.Equal(t, int64(3), firstFree(priorities("b", 2, "a", 1)))
}

// TestPrioritiesStayUnique moves queues at random: priorities are unique, the moved queue has the one that it was given,
// and the others keep their order.
func TestPrioritiesStayUnique(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var list []*orchv1.WorkQueuePriority
		for range rapid.IntRange(1, 20).Draw(t, "moves") {
			queue := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "queue")
			at := rapid.Int64Range(1, 6).Draw(t, "at")
			others := without(list, queue)
			list = setPriority(list, queue, at)
			var last int64
			var order []string
			for _, p := range list {
				require.Greater(t, p.GetPriority(), last)
				last = p.GetPriority()
				if p.GetQueueId() == queue {
					require.Equal(t, at, p.GetPriority())
				} else {
					order = append(order, p.GetQueueId())
				}
			}
			for i, p := range others {
				require.Equal(t, p.GetQueueId(), order[i])
			}
		}
	})
}
