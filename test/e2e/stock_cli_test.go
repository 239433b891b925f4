//go:build e2e && python

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// stockCLI is the unmodified command line of Prefect, with its own home directory.
type stockCLI struct {
	t       *testing.T
	program string
	env     []string
}

// run runs a command and returns its output and exit code.
func (c stockCLI) run(args ...string) (string, int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, append([]string{"cloud"}, args...)...)
	cmd.Env = append(os.Environ(), c.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out.String(), exit.ExitCode()
	}
	require.NoError(c.t, err)
	return out.String(), 0
}

// says runs a command that must print a text and exit with a code.
func (c stockCLI) says(code int, text string, args ...string) string {
	c.t.Helper()
	out, got := c.run(args...)
	require.Equal(c.t, code, got, "%v printed %s", args, out)
	require.Contains(c.t, strings.Join(strings.Fields(out), " "), text, "%v", args)
	return out
}

// TestStockCommandLine manages webhooks and assets with `prefect cloud` on a server with API keys.
func TestStockCommandLine(t *testing.T) {
	program := os.Getenv("ORCH_TEST_PREFECT")
	if program == "" {
		t.Skip("ORCH_TEST_PREFECT names no command line; make e2e-cli does")
	}
	server := StartSingle(t, programs, t.TempDir(), "ORCH_VOCABULARY=prefect", "ORCH_AUTH=keys")
	key := server.OwnerKey(t)
	c := stockCLI{t: t, program: program, env: []string{
		"PREFECT_HOME=" + filepath.Join(t.TempDir(), "home"), "PREFECT_CLOUD_API_URL=" + server.API(),
		"DO_NOT_TRACK=1", "NO_COLOR=1", "COLUMNS=200",
	}}
	const template = `{"event": "pushed", "resource": {"prefect.resource.id": "repository.{{ body.name }}"}}`

	c.says(1, "Currently not authenticated in profile", "webhook", "ls")
	c.says(0, "Authenticated with Prefect Cloud", "login", "--key", key, "--workspace", "default/default")
	c.says(1, "template", "webhook", "create", "pushes")
	c.says(0, "Successfully created webhook pushes", "webhook", "create", "pushes", "--template", template)
	c.says(1, "Only 'json' output format is supported.", "webhook", "ls", "--output", "yaml")
	c.says(0, "pushes", "webhook", "ls")

	list := func() []struct {
		ID, Name, Slug, Template string
		Enabled                  bool
	} {
		var all []struct {
			ID, Name, Slug, Template string
			Enabled                  bool
		}
		out, code := c.run("webhook", "ls", "-o", "json")
		require.Zero(t, code)
		require.NoError(t, json.Unmarshal([]byte(out), &all))
		return all
	}
	all := list()
	require.Len(t, all, 1)
	require.Equal(t, template, all[0].Template)
	require.True(t, all[0].Enabled)
	id := all[0].ID
	c.says(0, all[0].Slug, "webhook", "get", id)
	c.says(0, "Webhook is now disabled", "webhook", "toggle", id)
	c.says(0, "Successfully updated webhook "+id, "webhook", "update", id, "--name", "pulls")
	all = list()
	require.Equal(t, "pulls", all[0].Name)
	require.False(t, all[0].Enabled, "an update keeps what it does not name")
	require.Equal(t, template, all[0].Template)
	c.says(0, "Webhook is now enabled", "webhook", "toggle", id)

	const nobody = "00000000-0000-0000-0000-000000000009"
	c.says(1, "An exception occurred.", "webhook", "get", nobody)
	c.says(1, "Webhook with id '"+nobody+"' not found.", "webhook", "delete", nobody)
	c.says(2, "", "webhook", "get", "nonsense")
	c.says(0, "Successfully deleted webhook "+id, "webhook", "delete", id)
	require.Empty(t, list())
	c.says(0, "default", "workspace", "ls")
	c.says(0, "IP allowlist is empty.", "ip-allowlist", "ls")
	c.assets(server, key)
}

// assets lists and deletes an asset after an event of it.
func (c stockCLI) assets(server *Orch, key string) {
	c.t.Helper()
	const asset = "s3://bucket/data.csv"
	c.says(0, "No assets found in this workspace.", "asset", "ls")
	body := fmt.Sprintf(`[{"id": %q, "event": "prefect.asset.materialization.succeeded", "occurred": %q, "resource": {"prefect.resource.id": %q}}]`,
		uuid.NewString(), time.Now().UTC().Format(time.RFC3339Nano), asset)
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, server.API()+"/events", strings.NewReader(body))
	require.NoError(c.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(c.t, err)
	require.NoError(c.t, response.Body.Close())
	require.Equal(c.t, http.StatusNoContent, response.StatusCode)
	require.Eventually(c.t, func() bool {
		out, code := c.run("asset", "ls", "--prefix", "s3://", "--output", "json")
		return code == 0 && strings.Contains(out, asset)
	}, time.Minute, 10*time.Millisecond, "the asset is not listed")
	c.says(0, "Deleted asset '"+asset+"'.", "asset", "delete", asset, "--force")
	c.says(1, "not found", "asset", "delete", asset, "--force")
}
