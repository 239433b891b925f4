package standalone_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/services/standalone"
)

// The metrics of automations were once registered by the separate orchestration process only.
func TestAutomationMetricsAreServed(t *testing.T) {
	cfg, err := config.LoadFrom[standalone.Config](map[string]string{
		"ORCH_DATA_DIR": t.TempDir(), "ORCH_GATEWAY_LISTEN": "127.0.0.1:0", "ORCH_INTERNAL_LISTEN": "127.0.0.1:0",
	})
	require.NoError(t, err)
	s, err := standalone.New(t.Context(), cfg, "test", quiet)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.InternalURL()+"/metrics", http.NoBody)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	for _, name := range []string{"events_total", "firings_total", "limited_total", "firing_delay_seconds", "timers"} {
		require.Contains(t, string(text), "orch_automations_"+name)
	}
}
