package taskdispatch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/taskdispatch"
)

// A polling worker always counts as connected, and a claim outlives the poll that made it.
func TestPollsAreOftenEnough(t *testing.T) {
	t.Parallel()
	require.Less(t, 2*taskdispatch.Poll, taskdispatch.Claim)
}
