//go:build e2e

package e2e

import (
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The commands begin and end a maintenance of either form of the server. The maintenance survives kills of all processes; requests of the API get the
// 503 that clients wait for, and deliveries of webhooks are accepted.
func TestMaintenanceOfBothForms(t *testing.T) {
	t.Parallel()
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			o := form.start(t)
			client := &Client{Ledger: NewLedger(), HTTP: &http.Client{Timeout: 15 * time.Second}}
			t.Cleanup(client.HTTP.CloseIdleConnections)
			maintenance := func(args ...string) string {
				t.Helper()
				out, err := exec.CommandContext(t.Context(), programs.Path("orch"), append([]string{"maintenance", "--api-url", o.API()}, args...)...).CombinedOutput()
				require.NoError(t, err, string(out))
				return string(out)
			}
			slug, err := client.CreateWebhook(t.Context(), o, "gh")
			require.NoError(t, err)
			require.Contains(t, maintenance("status"), "off")
			require.Contains(t, maintenance("on", "--reason", "upgrade to 1.4"), "upgrade to 1.4")
			refused := func() {
				t.Helper()
				response, err := client.HTTP.Post(o.URL+"/api/flows/filter", "application/json", nil)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
				require.Equal(t, "true", response.Header.Get("Prefect-Maintenance"))
				require.NotEmpty(t, response.Header.Get("Retry-After"))
			}
			refused()
			o.Kill()
			for _, p := range o.Processes {
				require.NoError(t, p.Restart())
			}
			o.WaitReady(t)
			refused()
			require.Contains(t, maintenance("status"), "upgrade to 1.4")
			client.Deliver(t.Context(), o, slug, "1")
			require.Contains(t, maintenance("off"), "off")
			verdict, err := client.Check(t.Context(), o, time.Minute)
			require.NoError(t, err)
			require.Empty(t, verdict.Lost)
			require.Equal(t, 1, client.countEvents(t.Context(), o, "delivered"))
		})
	}
}
