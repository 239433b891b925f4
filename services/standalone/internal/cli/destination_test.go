package cli_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDestinationCommands: from a destination to its deliveries, one of them with its attempts, and resending.
func TestDestinationCommands(t *testing.T) {
	s, _ := newShell(t)
	s.run("destination", "create", "warehouse", "--url", "http://127.0.0.1:1/topsecret", "--subscriptions", `[{"events": ["orch.destination.created"], "template": "new"}]`, "--header", "X-Tenant=topsecret")
	s.run("destination", "deliveries", "warehouse")
	s.run("destination", "create", "other", "--url", "https://example.com", "--subscriptions", `[]`)
	var deliveries []struct {
		ID     string
		Reason *string
	}
	require.Eventually(t, func() bool {
		out, err := s.try("", "destination", "deliveries", "warehouse", "-o", "json")
		return err == nil && json.Unmarshal([]byte(out), &deliveries) == nil && len(deliveries) == 1 && deliveries[0].Reason != nil
	}, 15*time.Second, 20*time.Millisecond)
	_, err := s.try("", "destination", "disable", "warehouse") // No further attempt changes what follows.
	require.NoError(t, err)
	s.run("destination", "deliveries", "warehouse", "--state", "pending")
	s.run("destination", "deliveries", "warehouse", "--failed")
	s.run("destination", "deliveries", "warehouse", deliveries[0].ID)
	s.run("destination", "deliveries", "warehouse", "00000000-0000-0000-0000-000000000001")
	s.run("destination", "resend", "warehouse")
	s.run("destination", "resend", "warehouse", deliveries[0].ID)
	s.run("destination", "resend", "warehouse", "--event", "order.paid")
	s.run("destination", "resend", "nowhere")
	s.golden("destination.txt")
}
