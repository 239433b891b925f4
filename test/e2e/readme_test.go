//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/client"
)

// TestReadme runs the commands of the README unchanged and in order, against both forms of the product: twice, and in an empty
// directory, because readers paste them again and from anywhere.
func TestReadme(t *testing.T) {
	root, err := repositoryRoot()
	require.NoError(t, err)
	script := readmeScript(t, filepath.Join(root, "README.md"))
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			o := form.start(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			// The README uses the default address.
			text := strings.ReplaceAll(script, "http://127.0.0.1:4200", o.URL)
			for range 2 {
				shell := exec.CommandContext(ctx, "sh", "-eu", "-c", text)
				shell.Dir = t.TempDir()
				out, err := shell.CombinedOutput()
				require.NoError(t, err, "%s", out)
				t.Logf("%s", out)
				require.Contains(t, string(out), "204", "the webhook's answer")
				require.Contains(t, string(out), "COMPLETED")
			}
			c := &Client{HTTP: &http.Client{Timeout: startTimeout}, Ledger: NewLedger()}
			var webhooks []hooked
			_, err := c.post(ctx, o.API()+"/webhooks/filter", map[string]any{}, &webhooks)
			require.NoError(t, err)
			require.Len(t, webhooks, 1, "a name that commands can use")
		})
	}
}

// readmeScript returns the sh blocks between the markers.
func readmeScript(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "<!-- script -->")
	require.True(t, found, "the README marks its script")
	rest, _, found = strings.Cut(rest, "<!-- /script -->")
	require.True(t, found)
	var script strings.Builder
	for {
		_, after, found := strings.Cut(rest, "```sh\n")
		if !found {
			break
		}
		block, remaining, found := strings.Cut(after, "```")
		require.True(t, found, "a block that does not end")
		script.WriteString(block)
		rest = remaining
	}
	require.NotEmpty(t, script.String())
	return script.String()
}

// TestGeneratedClient runs the same scenario with a client that was generated from the OpenAPI document.
func TestGeneratedClient(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			o := form.start(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.NoError(t, client.Script(ctx, o.API()))
		})
	}
}
