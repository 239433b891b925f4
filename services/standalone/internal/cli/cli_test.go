package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/standalone/internal/cli"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// orch runs a command line and returns what it printed.
func orch(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := cli.New("1.2.3")
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(input))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestVersion(t *testing.T) {
	out, err := orch(t, "", "version")
	require.NoError(t, err)
	require.Contains(t, out, "orch 1.2.3 (API 0.8.4")
}

func TestOpenAPI(t *testing.T) {
	for vocab, header := range map[string]string{"orch": "X-ORCH-API-VERSION", "prefect": "X-PREFECT-API-VERSION"} {
		out, err := orch(t, "", "openapi", "--vocabulary", vocab)
		require.NoError(t, err)
		var document struct{ OpenAPI string }
		require.NoError(t, json.Unmarshal([]byte(out), &document))
		require.Equal(t, "3.0.3", document.OpenAPI)
		require.Contains(t, strings.ToUpper(out), header)
	}
	whole, err := orch(t, "", "openapi")
	require.NoError(t, err)
	core, err := orch(t, "", "openapi", "--core")
	require.NoError(t, err)
	require.Contains(t, core, `"operationId": "create_flow_run"`)
	require.NotContains(t, core, "Body_")
	require.Less(t, 4*len(core), len(whole))
	_, err = orch(t, "", "openapi", "--vocabulary", "latin")
	require.ErrorContains(t, err, "--vocabulary")
}

func TestTemplateRender(t *testing.T) {
	template := file(t, "t.jinja", `{{ body.n }} {{ body | tojson }}`)
	context := file(t, "c.json", `{"body": {"n": 12345678901234567890, "a": 1.0}}`)
	out, err := orch(t, "", "template", "render", "--template", template, "--context", context)
	require.NoError(t, err)
	require.Equal(t, `12345678901234567890 {"a": 1.0, "n": 12345678901234567890}`, out)

	_, err = orch(t, "", "template", "render", "--template", file(t, "bad.jinja", "one\n{{ two"))
	require.ErrorContains(t, err, "line 2")
	_, err = orch(t, "", "template", "render")
	require.ErrorContains(t, err, "--template or --stdio")
	_, err = orch(t, "", "template", "render", "--template", "nowhere")
	require.ErrorContains(t, err, "nowhere")
}

func TestTemplateRenderStdio(t *testing.T) {
	out, err := orch(t, `{"id": "1", "template": "{{ x }}", "context": {"x": 1.50}}
{"id": "2", "template": "{{ x", "context": {}}
`, "template", "render", "--stdio")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 2)
	require.JSONEq(t, `{"output": "1.5"}`, lines[0])
	require.Contains(t, lines[1], `"error":"syntax"`)
}

func TestDoctorNeedsADataDirectory(t *testing.T) {
	_, err := orch(t, "", "doctor", "--data-dir", t.TempDir())
	require.ErrorContains(t, err, "neither a data directory nor a backup")
}

func TestCheckConfigPrintsEverySettingAndNoSecret(t *testing.T) {
	t.Setenv("ORCH_AUTH_BASIC", "somebody:hunter2")
	out, err := orch(t, "", "server", "--check-config")
	require.NoError(t, err)
	for _, name := range []string{"ORCH_GATEWAY_LISTEN", "ORCH_HOOKS_MAX_BODY", "ORCH_EVENTS_RETENTION", "ORCH_DATA_DIR"} {
		require.Contains(t, out, name)
	}
	require.NotContains(t, out, "hunter2")
}

// TestFlagsOverrideVariables, also before settings are checked together: keys make an open address safe.
func TestFlagsOverrideVariables(t *testing.T) {
	t.Setenv("ORCH_GATEWAY_LISTEN", "0.0.0.0:4200")
	t.Setenv("ORCH_AUTH", "basic")
	t.Setenv("ORCH_HOOKS_MAX_BODY_FILE", file(t, "size", "1000\n"))
	out, err := orch(t, "", "server", "--check-config", "--auth", "keys")
	require.NoError(t, err)
	require.Regexp(t, `ORCH_GATEWAY_LISTEN +0.0.0.0:4200 +env`, out)
	require.Regexp(t, `ORCH_AUTH +keys +flag`, out)
	require.Regexp(t, `ORCH_HOOKS_MAX_BODY +1000 +file +5242880`, out)
	require.Regexp(t, `ORCH_LOG_LEVEL +INFO +default`, out)
}

// TestExitCodes: 2 for an invalid command line, 1 for what failed when it ran.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		want int
		args []string
	}{
		{0, []string{"--help"}},
		{0, []string{"version"}},
		{0, []string{"webhook"}},
		{2, []string{"nonsense"}},
		{2, []string{"webhook", "nonsense"}},
		{2, []string{"server", "extra"}},
		{2, []string{"server", "--nonsense"}},
		{2, []string{"server", "--vocabulary", "klingon"}},
		{2, []string{"server", "--auth", "magic"}},
		{2, []string{"webhook", "get"}},
		{2, []string{"webhook", "ls", "--output", "xml"}},
		{2, []string{"webhook", "create", "w", "--secret", "s"}},
		{2, []string{"template", "render"}},
		{1, []string{"template", "render", "--template", "nowhere"}},
		{1, []string{"doctor", "--data-dir", t.TempDir()}},
		{1, []string{"webhook", "ls", "--api-url", "http://127.0.0.1:1/api"}},
	} {
		t.Run(fmt.Sprint(c.want), func(t *testing.T) {
			_, err := orch(t, "", c.args...)
			require.Equal(t, c.want, cli.ExitCode(err), "%v: %v", c.args, err)
		})
	}
}

func TestUnsafeAddressIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, err := orch(t, "", "server", "--data-dir", dir, "--listen", "0.0.0.0:0")
	require.ErrorContains(t, err, "insecure")
	require.NoDirExists(t, dir)
}

func TestUnknownCommand(t *testing.T) {
	_, err := orch(t, "", "nonsense")
	require.ErrorContains(t, err, "nonsense")
}
