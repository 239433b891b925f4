package deliveryfeed

import (
	"testing"

	"github.com/orch-project/orch/pkg/broker/brokertest"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestGrownLogsReachSubscribers(t *testing.T) {
	t.Parallel()
	brokertest.LiveIDs(t, name, Open)
}
