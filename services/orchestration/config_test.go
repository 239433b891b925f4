package orchestration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration"
)

// The errors of a configuration have a fixed order.
func TestErrorsOfAConfigurationKeepTheirOrder(t *testing.T) {
	t.Parallel()
	c := orchestration.Config{Automations: orchestration.Automations{FiringsPerMinute: -1, AccountFiringsPerMinute: -1, KeysPerAutomation: -1}}
	for range 20 {
		text := c.Validate().Error()
		last := -1
		for _, name := range []string{"ORCH_AUTOMATIONS_FIRINGS_PER_MINUTE", "ORCH_AUTOMATIONS_ACCOUNT_FIRINGS_PER_MINUTE", "ORCH_AUTOMATIONS_KEYS"} {
			at := strings.Index(text, name)
			require.Greater(t, at, last, text)
			last = at
		}
	}
}

// TestAWindowOfHealthIsNotZero: with such a window, a webhook would fail and recover by every request.
func TestAWindowOfHealthIsNotZero(t *testing.T) {
	t.Parallel()
	c := orchestration.Config{WebhookHealth: orchestration.WebhookHealth{Count: 5, Percent: 50}}
	require.ErrorContains(t, c.Validate(), "ORCH_WEBHOOK_FAILING_WINDOW: must be at least 1s")
	c.WebhookHealth.Window = time.Second
	require.NotContains(t, fmt.Sprint(c.Validate()), "ORCH_WEBHOOK_FAILING_WINDOW")
}
