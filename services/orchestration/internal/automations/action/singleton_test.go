package action

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Whatever comes in whatever order, an admitted run is repeated as admitted, a queue admits in its order, and only the last run of those
// that replace each other is admitted.
func TestAdmissionsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	modes := []orchv1.SingletonMode{
		orchv1.SingletonMode_SINGLETON_MODE_SKIP, orchv1.SingletonMode_SINGLETON_MODE_QUEUE, orchv1.SingletonMode_SINGLETON_MODE_REPLACE,
	}
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom(modes).Draw(t, "mode")
		key := &orchv1.AutomationKey{}
		var open, entered []string
		n := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			run := fmt.Sprintf("%03d", n)
			if len(open) > 0 && rapid.Bool().Draw(t, "again") {
				run = rapid.SampledFrom(open).Draw(t, "run")
			} else {
				n++
			}
			free := key.GetActive() == "" || rapid.Bool().Draw(t, "free")
			before := proto.CloneOf(key)
			switch admit(key, run, mode, free, noon) {
			case admitted:
				require.Equal(t, run, key.GetActive())
				if before.GetActive() != run {
					require.True(t, free)
					entered = append(entered, run)
				}
				require.Equal(t, admitted, admit(key, run, mode, false, noon), "a repetition")
				open = slices.DeleteFunc(open, func(id string) bool { return id == run })
			case waiting:
				require.NotEqual(t, orchv1.SingletonMode_SINGLETON_MODE_SKIP, mode)
				require.Contains(t, key.GetQueue(), run)
				require.NotNil(t, key.WaitingSince)
				if !slices.Contains(open, run) {
					open = append(open, run)
				}
			case superseded:
				require.Equal(t, orchv1.SingletonMode_SINGLETON_MODE_REPLACE, mode)
				require.Equal(t, superseded, admit(key, run, mode, true, noon), "a repetition")
			case skipped:
				require.Equal(t, orchv1.SingletonMode_SINGLETON_MODE_SKIP, mode)
				require.False(t, free)
			}
		}
		require.True(t, slices.IsSorted(entered), "%v", entered)
	})
}

func TestAQueueIsBounded(t *testing.T) {
	t.Parallel()
	key := &orchv1.AutomationKey{Active: "active"}
	for i := range maxQueue {
		require.Equal(t, waiting, admit(key, fmt.Sprint(i), orchv1.SingletonMode_SINGLETON_MODE_QUEUE, false, noon))
	}
	require.Equal(t, queueFull, admit(key, "one more", orchv1.SingletonMode_SINGLETON_MODE_QUEUE, false, noon))
	require.Equal(t, admitted, admit(key, "0", orchv1.SingletonMode_SINGLETON_MODE_QUEUE, true, noon))
	require.Equal(t, waiting, admit(key, "one more", orchv1.SingletonMode_SINGLETON_MODE_QUEUE, false, noon))
}
