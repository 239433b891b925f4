package feeds_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/broker/brokertest"
	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestIDsReachSubscribers(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*broker.Conn) *broker.LiveIDs{
		"deliveries": feeds.Deliveries, "work-pools": feeds.WorkPools, "work-pool-cleanups": feeds.Cleanups,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			brokertest.LiveIDs(t, name, open)
		})
	}
}

// A polling task worker always counts as connected, and a claim outlives the poll that made it.
func TestTaskClaimsOutlivePolls(t *testing.T) {
	t.Parallel()
	require.Less(t, 2*feeds.TaskPoll, feeds.TaskClaim)
}
