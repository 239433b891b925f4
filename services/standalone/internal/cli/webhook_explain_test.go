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
