package workerchannel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker/brokertest"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestChangedPoolsReachSubscribers(t *testing.T) {
	t.Parallel()
	brokertest.LiveIDs(t, poolsName, Pools)
}

// The messages of the feeds have different forms.
func TestFeedsDiffer(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, poolsName, runsName)
}
