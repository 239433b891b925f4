package cli

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
)

// explained returns the explanation of a delivery.
func explained(d delivery) string {
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	(&connection{output: outputTable}).explain(cmd, d, nil, webhookSummary{})
	return out.String()
}

// TestEveryReasonIsExplained: each reason fails one step, and no later step is shown as done.
func TestEveryReasonIsExplained(t *testing.T) {
	for _, reason := range deliverylog.Reasons() {
		text := explained(delivery{Status: http.StatusBadRequest, Reason: &reason, Error: &reason})
		require.Equal(t, 1, strings.Count(text, "FAILED: "+reason), "%s:\n%s", reason, text)
		last := text[strings.Index(text, "FAILED"):]
		require.NotContains(t, last, "published", reason)
	}
	require.Contains(t, explained(delivery{Status: http.StatusNoContent}), "published")
	name := "slack"
	answered := explained(delivery{Status: http.StatusOK, Handshake: &name})
	require.Contains(t, answered, "handshake         answered")
	require.NotContains(t, answered, "template")
}

func TestTheResultOfADeliveryCountsRequestsWithoutAnEntry(t *testing.T) {
	t.Parallel()
	reason, event := "template", "push"
	for name, test := range map[string]struct {
		delivery delivery
		want     string
	}{
		"one event":             {delivery{Event: &event, Count: 1}, "push"},
		"an earlier server":     {delivery{Event: &event}, "push"},
		"refusals":              {delivery{Error: &reason, Count: 1200}, "template (stands for 1200 requests)"},
		"nothing else to show":  {delivery{Count: 2}, "(stands for 2 requests)"},
		"several events, twice": {delivery{Event: &event, EventIDs: []string{"a", "b", "c"}, Count: 2}, "push and 2 more (stands for 2 requests)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, test.delivery.result())
		})
	}
}
