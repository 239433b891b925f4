package workspacelimit_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/workspacelimit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The share of a workspace shrinks with their number, so that a further one can begin.
func TestSharesLeaveRoom(t *testing.T) {
	t.Parallel()
	const total, maxShare = 128, 8
	for _, workspaces := range []int{1, 2, 10, total / 4, total - 1} {
		s := workspacelimit.New(total, maxShare)
		ids := make([]uuid.UUID, workspaces)
		for i := range ids {
			ids[i] = uuid.New()
			require.True(t, s.Acquire(ids[i], fmt.Sprint(i)), "%d workspaces", workspaces)
		}
		used := map[uuid.UUID]int{}
		for i, again := 0, true; again; i++ {
			again = false
			for _, ws := range ids {
				if s.Acquire(ws, fmt.Sprint(ws, i)) {
					used[ws]++
					again = true
				}
			}
		}
		for _, ws := range ids {
			require.LessOrEqual(t, used[ws]+1, maxShare)
		}
		require.True(t, s.Acquire(uuid.New(), "new"), "%d workspaces", workspaces)
	}
}
