package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/services/standalone"
	"github.com/orch-project/orch/services/standalone/internal/cli"
)

var update = flag.Bool("update", false, "write the golden files")

// shell runs commands one after the other as a user would, and writes down what they print.
type shell struct {
	t   *testing.T
	log bytes.Buffer
	// known are texts that differ from run to run, and what stands for them.
	known [][2]string
}

// startServer starts a server with API keys and returns the address of its API and the owner's key.
func startServer(t *testing.T, settings map[string]string) (api, key string) {
	t.Helper()
	all := map[string]string{
		"ORCH_DATA_DIR": t.TempDir(), "ORCH_GATEWAY_LISTEN": "127.0.0.1:0", "ORCH_INTERNAL_LISTEN": "127.0.0.1:0", "ORCH_AUTH": "keys",
	}
	maps.Copy(all, settings)
	cfg, err := config.LoadFrom[standalone.Config](all)
	require.NoError(t, err)
	s, err := standalone.New(t.Context(), cfg, "test", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return "http://" + s.Addr().String() + "/api", s.OwnerKey()
}

func newShell(t *testing.T) (*shell, string) {
	t.Helper()
	return newShellWith(t, nil)
}

// newShellWith is newShell for a server with settings.
func newShellWith(t *testing.T, settings map[string]string) (*shell, string) {
	t.Helper()
	t.Setenv("ORCH_PROFILES", filepath.Join(t.TempDir(), "profiles.json"))
	for _, name := range []string{"ORCH_API_URL", "ORCH_API_KEY", "ORCH_PROFILE"} {
		t.Setenv(name, "")
	}
	api, key := startServer(t, settings)
	s := &shell{t: t, known: [][2]string{{strings.TrimSuffix(api, "/api"), "http://orch"}, {key, "OWNERS-KEY"}}}
	require.Eventually(t, func() bool {
		_, err := s.try(key+"\n", "login", "--api-url", api, "--key-stdin")
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	return s, api
}

// try runs a command without writing it down.
func (s *shell) try(input string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := cli.New("test")
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(input))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	err := cmd.ExecuteContext(ctx)
	return out.String(), err
}

// run runs a command and writes down what it printed, its error and its exit code.
func (s *shell) run(args ...string) string {
	s.t.Helper()
	out, err := s.try("", args...)
	s.log.WriteString("$ orch " + strings.Join(args, " ") + "\n" + out)
	if err != nil {
		s.log.WriteString("orch: " + err.Error() + "\n")
	}
	if code := cli.ExitCode(err); code != 0 {
		s.log.WriteString("exit " + string(rune('0'+code)) + "\n")
	}
	s.log.WriteByte('\n')
	return out
}

var changing = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "<time>"},
	{regexp.MustCompile(`/hooks/[\w-]{22}`), "/hooks/<slug>"},
	{regexp.MustCompile(`"slug": "[\w-]{22}"`), `"slug": "<slug>"`},
	{regexp.MustCompile(`\bon[ub]_\w+`), "<key>"},
	{regexp.MustCompile(`\b[0-9.]+(µs|ms|s)\b`), "<span>"},
	{regexp.MustCompile(`"latency": [0-9.e-]+`), `"latency": 0`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<host>"},
	{regexp.MustCompile(` {2,}`), "  "},
	// Counts of requests reach the health after some seconds.
	{regexp.MustCompile(`\b(unknown|healthy|failing)(  <time>)?  (http://orch/hooks)`), "<health>  $3"},
}

func (s *shell) golden(name string) {
	s.t.Helper()
	text := s.log.String()
	for _, pair := range s.known {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.instead)
	}
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(s.t, os.MkdirAll("testdata", 0o755))
		require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(s.t, err)
	require.Equal(s.t, string(want), text)
}

const pushTemplate = `{"event": "push", "resource": {"orch.resource.id": "repository.{{ body.repository }}"}, "payload": {{ body | tojson }}}`

func TestWebhookCommands(t *testing.T) {
	s, _ := newShell(t)
	s.run("webhook", "create", "pushes")
	s.run("webhook", "create", "pushes", "-t", "{{ body")
	s.run("webhook", "create", "pushes", "-t", pushTemplate, "-d", "Pushes to our repositories", "--rate", "100/1s", "--burst", "200", "--allow-ip", "127.0.0.0/8")
	s.run("webhook", "ls")
	s.run("webhook", "get", "pushes")
	s.run("webhook", "get", "pushes", "-o", "json")
	s.run("webhook", "get", "pulls")
	s.run("webhook", "get", "00000000-0000-0000-0000-000000000001")
	s.run("webhook", "test", "pushes", "--data", `{"repository": "orch"}`)
	s.run("webhook", "test", "pushes", "--data", `{"repository": "orch"}`, "--template", "{\n{{ body.repository }")
	s.run("webhook", "test", "pushes", "--data", `{"repository": "orch"}`, "--template", "plain")
	s.run("webhook", "test", "pushes", "--data", `{"repository": "orch"}`, "--send")
	s.run("webhook", "update", "pushes", "-t", `{% if true %}no event{% endif %}`)
	s.until("pushes", "{}", "400")
	s.run("webhook", "test", "pushes", "--data", `{"repository": "hall"}`, "--send")
	s.deliveries("pushes", `"repository": "hall"`)
	s.run("webhook", "deliveries", "pushes", "--limit", "1")
	s.run("webhook", "update", "pushes", "--burst", "5")
	s.run("webhook", "update", "pushes", "-t", pushTemplate, "--rate", "0")
	s.run("webhook", "update", "pushes", "--response-status", "201", "--response-header", "Content-Type: application/json", "--response-body", `{"text": {{ body.repository | tojson }}}`)
	s.run("webhook", "test", "pushes", "--data", `{"repository": "hall"}`)
	s.until("pushes", `{"repository": "answered"}`, "201")
	s.run("webhook", "test", "pushes", "--data", `{"repository": "hall"}`, "--send")
	s.run("webhook", "update", "pushes", "--response-status", "500")
	s.run("webhook", "update", "pushes", "--response-header", "text")
	s.run("webhook", "update", "pushes", "--response-body", "{{", "--no-response")
	s.run("webhook", "update", "pushes", "--response-body", "ok\n{{ body")
	s.run("webhook", "update", "pushes", "--no-response")
	s.until("pushes", `{"repository": "silent"}`, "204")
	s.run("webhook", "replay", "pushes")
	s.run("webhook", "replay", "pushes", "--failed", "--limit", "1")
	s.run("webhook", "toggle", "pushes")
	s.until("pushes", "{}", "404")
	s.run("webhook", "test", "pushes", "--data", `{}`, "--send")
	s.run("webhook", "toggle", "pushes", "--on")
	before, _ := s.try("", "webhook", "get", "pushes")
	s.run("webhook", "rotate", "pushes")
	after, _ := s.try("", "webhook", "get", "pushes")
	require.NotEqual(t, before, after)
	s.run("webhook", "update", "pushes")
	s.run("webhook", "update", "pushes", "--name", "events", "--secret", "s3cret-s3cret", "--scheme", "github")
	s.until("events", "{}", "401")
	s.run("webhook", "test", "events", "--data", `{}`, "--send")
	s.run("webhook", "delete", "events")
	s.run("webhook", "ls", "-o", "json")
	s.golden("webhook.txt")
}

// TestWebhookPresetCommands: from a list of presets to a signed sample that becomes an event.
func TestWebhookPresetCommands(t *testing.T) {
	s, _ := newShell(t)
	secret := file(t, "secret.txt", "correct-horse battery-staple\n")
	s.known = append(s.known, [2]string{secret, "secret.txt"})
	s.run("webhook", "presets")
	s.run("webhook", "presets", "pagerduty")
	s.run("webhook", "presets", "githup")
	s.run("webhook", "create", "pushes", "--preset", "github")
	s.run("webhook", "create", "pushes", "--preset", "github", "--secret-file", secret)
	s.run("webhook", "create", "pushes", "--preset", "github", "--secret-file", secret, "--if-absent")
	s.run("webhook", "test", "pushes", "--preset-sample", "github")
	s.run("webhook", "test", "pushes", "--preset-sample", "github", "--sign", "--secret-file", secret)
	s.run("webhook", "test", "pushes", "--preset-sample", "github", "--sign", "--send")
	s.run("webhook", "test", "pushes", "--preset-sample", "github", "--send")
	s.run("webhook", "test", "pushes", "--preset-sample", "github", "--sign", "--secret-file", secret, "--send")
	s.run("webhook", "create", "builds", "--preset", "generic", "--scheme", "token", "--header", "X-Build", "--secret-file", secret)
	s.run("webhook", "test", "builds", "--data", "{}", "--header", "X-Build: correct-horse", "--send")
	s.run("webhook", "test", "builds", "--data", "{}", "--header", "X-Build: correct-horse battery-staple", "--send")
	s.run("webhook", "create", "alerts", "--preset", "alertmanager", "--prefix", "Basic ", "--secret-file", secret)
	s.run("webhook", "create", "plain", "--preset", "generic", "--header", "X-Build")
	s.golden("webhook_presets.txt")
}

// TestWebhookSampleCommands: a typed request is kept, tried with a draft, renamed and deleted with its text.
func TestWebhookSampleCommands(t *testing.T) {
	s, _ := newShell(t)
	s.run("webhook", "create", "pushes", "-t", `{"event": "push", "resource": {"orch.resource.id": "repository.{{ body.repository }}"}}`)
	s.run("webhook", "sample", "create", "pushes", "large", "--data", `{"repository": "hall"}`, "-H", "X-Token: top-secret", "--query", "a=1")
	s.run("webhook", "sample", "create", "pushes", "large")
	s.run("webhook", "sample", "create", "pushes", "other", "--delivery", "00000000-0000-4000-8000-000000000000", "--data", "{}")
	s.run("webhook", "sample", "ls", "pushes")
	s.run("webhook", "sample", "inspect", "pushes", "large")
	s.run("webhook", "test", "pushes", "--sample", "large")
	s.run("webhook", "test", "pushes", "--sample", "large", "--template", `{{ body.repository }}`)
	s.run("webhook", "test", "pushes", "--sample", "large", "--filter", `body.repository == "barn"`)
	s.run("webhook", "test", "pushes", "--sample", "lage")
	s.run("webhook", "test", "pushes", "--sample", "large", "--data", "{}")
	s.run("webhook", "sample", "rename", "pushes", "large", "push to hall")
	s.run("webhook", "delete-deliveries", "pushes", "--samples")
	s.run("webhook", "delete-deliveries", "pushes", "--search", "HALL", "--samples")
	s.run("webhook", "sample", "delete", "pushes", "push to hall")
	s.golden("webhook_samples.txt")
}

// TestWebhookExplanations: missing values, refused methods and failed deliveries are explained with their place.
func TestWebhookExplanations(t *testing.T) {
	s, _ := newShell(t)
	const template = "{\"event\": \"named\",\n \"resource\": {\"orch.resource.id\": \"x\"},\n \"payload\": {\"name\": {{ body.name|tojson }}}}"
	secret := file(t, "secret.txt", "correct-horse battery-staple\n")
	s.known = append(s.known, [2]string{secret, "secret.txt"})
	s.run("webhook", "create", "named", "--strict", "--method", "post,put", "-t", template)
	s.run("webhook", "test", "named", "--data", `{"name": "Ada"}`)
	s.run("webhook", "test", "named", "--data", `{}`)
	s.run("webhook", "test", "named", "--data", `{}`, "--send")
	s.run("webhook", "test", "named", "--method", "GET", "--send")
	s.run("webhook", "deliveries", "named", s.failed("named", "template"))
	s.run("webhook", "update", "named", "--strict=false")
	s.run("webhook", "test", "named", "--data", `{}`, "-t", `{"event": "named", "resource": {"orch.resource.id": "x{{ body.name }}"}}`)
	s.run("webhook", "create", "pushes", "--preset", "github", "--secret-file", secret)
	s.run("webhook", "test", "pushes", "--data", `{}`, "--header", "X-Hub-Signature-256: sha256=00", "--send")
	s.run("webhook", "deliveries", "pushes", s.failed("pushes", "signature"))
	s.golden("webhook_explanations.txt")
}

// TestWebhooksAsCode: a file is applied once, a second run changes nothing, and an invalid file changes nothing either.
func TestWebhooksAsCode(t *testing.T) {
	s, _ := newShell(t)
	dir := t.TempDir()
	s.known = append(s.known, [2]string{dir + string(filepath.Separator), ""})
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("secret.txt", "correct-horse battery-staple\n")
	const builds = "  - name: builds\n    template: '{\"event\": \"built\", \"resource\": {\"orch.resource.id\": \"b\"}}'\n"
	const pushes = "  - name: pushes\n    preset: github\n    verification: {secrets_file: secret.txt}\n"
	first := write("first.yaml", "webhooks:\n"+pushes+builds)
	second := write("second.yaml", "webhooks:\n"+pushes+"    methods: [POST, PUT]\n    enabled: false\n")
	s.run("webhook", "apply", "-f", write("unknown.yaml", "webhooks:\n"+builds+"    colour: red\n"+builds))
	s.run("webhook", "apply", "-f", write("syntax.yaml", "webhooks:\n"+pushes+"  - {name: broken, template: '{{ body'}\n"))
	s.run("webhook", "apply", "-f", write("preset.yaml", "webhooks:\n  - {name: x, preset: githup}\n"))
	s.run("webhook", "apply", "-f", write("empty.yaml", ""), "--prune")
	s.run("webhook", "apply", "-f", write("misspelled.yaml", "webhook:\n"+builds), "--prune")
	s.run("webhook", "apply", "-f", write("incomplete.yaml", "webhooks:\n  - name: bare\n  - {name: unsigned, preset: stripe}\n  - {name: social, preset: generic, handshakes: [meta]}\n"+builds))
	s.run("webhook", "apply", "-f", write("refused.yaml", "webhooks:\n"+builds+"    allowed_ips: [nowhere]\n    methods: [BREW]\n  - {name: twice, preset: generic, allowed_ips: [nowhere], verification: {scheme: token, secrets: [short]}}\n"))
	s.run("webhook", "apply", "-f", first, "--dry-run")
	s.run("webhook", "ls", "-o", "json")
	s.run("webhook", "apply", "-f", first)
	s.run("webhook", "apply", "-f", first)
	s.run("webhook", "apply", "-f", second, "--prune", "--dry-run")
	s.run("webhook", "apply", "-f", second, "--prune")
	s.run("webhook", "apply", "-f", second, "--prune")
	s.run("webhook", "apply", "-f", write("response.yaml", "webhooks:\n"+builds+"    response: {status: 500, headers: {Set-Cookie: a}, body: '{{ body'}\n"))
	response := write("response.yaml", "webhooks:\n"+builds+"    response: {body: ok}\n")
	s.run("webhook", "apply", "-f", response)
	s.run("webhook", "apply", "-f", response)
	s.run("webhook", "apply", "-f", write("scheme.yaml", "webhooks:\n  - name: pushes\n    verification: {scheme: gitlab}\n"))
	s.run("webhook", "export")
	exported, err := s.try("", "webhook", "export")
	require.NoError(t, err)
	s.run("webhook", "apply", "-f", write("exported.yaml", exported))
	require.NotContains(t, s.log.String(), "battery-staple")
	s.golden("webhook_apply.txt")
}

// failed waits for a delivery that failed for a reason, and returns its id.
func (s *shell) failed(name, reason string) string {
	s.t.Helper()
	var deliveries []struct{ ID, Reason string }
	require.Eventually(s.t, func() bool {
		out, err := s.try("", "webhook", "deliveries", name, "--failed", "-o", "json")
		return err == nil && json.Unmarshal([]byte(out), &deliveries) == nil &&
			slices.ContainsFunc(deliveries, func(d struct{ ID, Reason string }) bool { return d.Reason == reason })
	}, 15*time.Second, 20*time.Millisecond)
	at := slices.IndexFunc(deliveries, func(d struct{ ID, Reason string }) bool { return d.Reason == reason })
	return deliveries[at].ID
}

// until waits until sending to a webhook is answered with a status: changes reach the hooks service within a second.
func (s *shell) until(name, data, status string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		out, _ := s.try("", "webhook", "test", name, "--data", data, "--send")
		return strings.HasPrefix(out, status)
	}, 10*time.Second, 10*time.Millisecond)
}

// deliveries waits until the newest delivery of a webhook has a body: the log is written beside the requests.
func (s *shell) deliveries(name, body string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		out, err := s.try("", "webhook", "deliveries", name, "--limit", "1", "-o", "json")
		return err == nil && strings.Contains(out, strconv.Quote("{"+body+"}"))
	}, 15*time.Second, 20*time.Millisecond)
}

func TestTailShowsEachDeliveryOnce(t *testing.T) {
	s, _ := newShell(t)
	s.run("webhook", "create", "pushes", "-t", pushTemplate)
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		cmd := cli.New("test")
		cmd.SetArgs([]string{"webhook", "tail", "pushes", "--every", "10ms", "-o", "json"})
		cmd.SetOut(write)
		done <- cmd.ExecuteContext(ctx)
		write.Close()
	}()
	lines := make(chan string, 1000)
	go func() {
		for scanner := bufio.NewScanner(read); scanner.Scan(); {
			lines <- scanner.Text()
		}
		close(lines)
	}()
	var shown []string
	send := func(what string) func() bool {
		return func() bool {
			out, _ := s.try("", "webhook", "test", "pushes", "--data", what, "--send")
			select {
			case line := <-lines:
				shown = append(shown, line)
			default:
			}
			return strings.HasPrefix(out, "204") && len(shown) > 0
		}
	}
	// Events before the first poll are not shown, so the first shown event proves that polling has begun.
	require.Eventually(t, send(`{"repository": "before"}`), time.Minute, 20*time.Millisecond)
	s.until("pushes", `{"repository": "first-push"}`, "204")
	s.until("pushes", `{"repository": "second-push"}`, "204")
	for all := ""; !strings.Contains(all, "first-push") || !strings.Contains(all, "second-push"); all += shown[len(shown)-1] {
		shown = append(shown, <-lines)
	}
	cancel()
	require.NoError(t, <-done)
	for line := range lines {
		shown = append(shown, line)
	}
	slices.Sort(shown) // Each names its delivery.
	require.Len(t, slices.Compact(slices.Clone(shown)), len(shown), "none is shown twice")
}

func TestHostedCommands(t *testing.T) {
	s, _ := newShell(t)
	s.run("profile", "ls")
	s.run("workspace", "ls")
	s.run("workspace", "create", "Night shift", "--handle", "night")
	s.run("workspace", "use", "night")
	s.run("webhook", "create", "alarms", "-t", pushTemplate)
	s.run("workspace", "use", "default")
	s.run("webhook", "ls")
	s.run("workspace", "delete", "night")
	s.run("workspace", "use", "night")
	s.run("service-account", "create", "ci", "--expires-in", "720h")
	s.run("service-account", "create", "ci")
	s.run("service-account", "ls")
	s.run("service-account", "rotate", "ci", "--overlap", "1h")
	s.run("webhook", "create", "guarded", "-t", pushTemplate, "--service-account", "ci")
	s.run("webhook", "test", "guarded", "--data", "{}", "--send")
	s.run("workspace", "grant", "--service-account", "ci", "--role", "Viewer")
	s.run("workspace", "grant", "--service-account", "ci", "--role", "Emperor")
	s.run("workspace", "grant", "--role", "Viewer")
	s.run("workspace", "revoke")
	s.run("workspace", "revoke", "--service-account", "ci")
	s.run("workspace", "revoke", "--service-account", "ci")
	s.run("team", "create", "data", "-d", "who load it")
	s.run("team", "add", "data", "--service-account", "ci", "--user", "owner@localhost")
	s.run("team", "add", "data", "--user", "nobody@example.com")
	s.run("team", "ls")
	s.run("team", "remove", "data", "--service-account", "ci")
	s.run("team", "remove", "data", "--service-account", "ci")
	s.run("team", "delete", "data")
	s.run("service-account", "delete", "ci")
	s.run("api-key", "create", "laptop")
	s.run("api-key", "ls")
	s.run("logout")
	s.run("webhook", "ls")
	s.run("profile", "use", "nowhere")
	s.run("profile", "delete", "default")
	s.golden("hosted.txt")
}

func TestKeyStaysWithItsServer(t *testing.T) {
	s, _ := newShell(t)
	_, err := s.try("", "webhook", "ls", "--api-url", "http://127.0.0.1:1/api")
	require.Error(t, err)
	other, _ := startServer(t, nil)
	require.Eventually(t, func() bool {
		_, err = s.try("", "webhook", "ls", "--api-url", other)
		return err != nil && strings.Contains(err.Error(), "(401)")
	}, 20*time.Second, 10*time.Millisecond, "the key of the profile is not sent to another server")
}

func TestUsageErrorsEndWithTwo(t *testing.T) {
	for _, args := range [][]string{
		{"nonsense"},
		{"webhook", "nonsense"},
		{"webhook", "get"},
		{"webhook", "ls", "--nonsense"},
		{"webhook", "ls", "-o", "xml"},
		{"webhook", "create", "x", "--template", "a", "--template-file", "b"},
		{"login", "--api-url", "nonsense"},
	} {
		_, err := orch(t, "", args...)
		require.Equal(t, 2, cli.ExitCode(err), "%v: %v", args, err)
	}
	require.Equal(t, 1, cli.ExitCode(errors.New("anything else")))
	_, err := orch(t, "", "webhook")
	require.Equal(t, 0, cli.ExitCode(err))
}
