package brokertest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/broker/brokertest"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// All events of the suite are publishable: a failing suite then speaks about the broker.
func TestGeneratedEventsAreValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := brokertest.Event().Draw(t, "event")
		require.NoError(t, e.Validate())
	})
}
