package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// task writes down what someone wants, and the shortest command for it.
func (s *shell) task(what string, args ...string) string {
	s.t.Helper()
	s.log.WriteString("# " + what + "\n")
	return s.run(args...)
}

// eventually waits until a command prints a text.
func (s *shell) eventually(text string, args ...string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		out, err := s.try("", args...)
		return err == nil && strings.Contains(out, text)
	}, 20*time.Second, 20*time.Millisecond, "%v", args)
}

// TestTasksOfAnOwner: what the owner of webhooks and flows does in a first hour, with the shortest command and its output, the
// mistakes included.
func TestTasksOfAnOwner(t *testing.T) {
	w := newWorkplace(t)
	s := w.shell
	secret, short := file(t, "secret.txt", "correct-horse battery-staple\n"), file(t, "short.txt", "whsec_AA==\n")
	form := file(t, "form.txt", "--limit\nContent-Disposition: form-data; name=\"mail\"; filename=\"a.txt\"\n\nhi\n--limit--\n")
	large := file(t, "large.txt", strings.Repeat("x", 6<<20))
	s.known = append(s.known, [2]string{secret, "secret.txt"}, [2]string{short, "short.txt"}, [2]string{form, "form.txt"}, [2]string{large, "large.txt"})

	s.task("Which providers are known?", "webhook", "presets")
	s.task("Wire GitHub.", "webhook", "create", "pushes", "--preset", "github", "--secret-file", secret)
	s.task("Try the template without GitHub.", "webhook", "test", "pushes", "--preset-sample", "github")
	s.task("Post a signed request, as GitHub would.", "webhook", "test", "pushes", "--preset-sample", "github", "--sign", "--secret-file", secret, "--send")
	s.eventually("github.push", "events", "ls", "--event", "github.push")
	s.task("Did the event arrive?", "events", "ls", "--event", "github.*")
	s.task("A secret with a blank is one secret: half of it is refused.", "webhook", "test", "pushes", "--preset-sample", "github", "--sign", "--secret", "correct-horse", "--send")
	refused := s.failed("pushes", "signature")
	s.task("Why was it refused?", "webhook", "deliveries", "pushes", refused)
	s.task("Which failures have the same cause?", "webhook", "issues", "pushes")
	s.task("A link preview fires nothing.", "webhook", "test", "pushes", "--method", "GET", "--send")
	s.task("A secret whose key is too short is refused.", "webhook", "create", "users", "--preset", "standard", "--secret-file", short)
	s.task("A preset without its secret is refused.", "webhook", "create", "payments", "--preset", "stripe")
	s.task("A misspelled preset.", "webhook", "create", "pays", "--preset", "strype", "--secret-file", secret)
	s.task("A scheme without its header is refused.", "webhook", "create", "builds", "--preset", "generic", "--scheme", "token", "--secret-file", secret)
	s.task("A sender with a token of its own.", "webhook", "create", "builds", "--preset", "generic", "--scheme", "token", "--header", "X-Build", "--secret-file", secret)
	s.task("A template that fails loudly.", "webhook", "create", "orders", "--strict", "-t", `{"event": "order", "resource": {"orch.resource.id": "order.{{ body.id }}"}}`)
	s.task("A value is missing.", "webhook", "test", "orders", "--data", "{}", "--send")
	s.failed("orders", "template")
	s.task("Mend the template.", "webhook", "update", "orders", "-t", `{"event": "order", "resource": {"orch.resource.id": "order.{{ body.id | default('none') }}"}}`)
	s.task("Replay what failed.", "webhook", "replay", "orders", "--failed")
	s.task("A file of a form.", "webhook", "test", "orders", "--data-file", form, "--header", "Content-Type: multipart/form-data; boundary=limit",
		"-t", `{"event": "mail", "resource": {"orch.resource.id": "{{ body.mail.name }}"}, "payload": {{ body.mail | tojson }}}`)
	s.task("A body above the limit is refused; the log names the limit.", "webhook", "test", "orders", "--data-file", large, "--send")
	s.task("A sample above the limit, too.", "webhook", "test", "orders", "--data-file", large)
	s.eventually("ORCH_HOOKS_MAX_BODY, 5242880 bytes", "webhook", "issues", "orders")
	s.task("A CloudEvent.", "webhook", "create", "sources", "--preset", "cloudevents")
	s.task("What does a CloudEvent become?", "webhook", "test", "sources", "--preset-sample", "cloudevents")
	_, err := s.try("", "service-account", "create", "ci")
	require.NoError(t, err)
	s.task("Only a service account may post.", "webhook", "update", "sources", "--service-account", "ci")
	s.task("Give it a role.", "workspace", "grant", "--service-account", "ci", "--role", "Viewer")
	key := s.rotate("ci")
	s.until("sources", "{}", "401")
	s.task("Its key works as a bearer token alone.", "webhook", "test", "sources", "--preset-sample", "cloudevents", "--header", "Authorization: Basic "+key, "--send")
	s.task("With the bearer token.", "webhook", "test", "sources", "--preset-sample", "cloudevents", "--header", "Authorization: Bearer "+key, "--send")
	s.task("Revoke its role.", "workspace", "revoke", "--service-account", "ci")
	s.task("It has none any more.", "workspace", "revoke", "--service-account", "ci")
	s.task("Rename a webhook.", "webhook", "update", "orders", "--name", "sales")
	s.task("Switch it off.", "webhook", "toggle", "sales", "--off")
	s.task("Keep webhooks as code.", "webhook", "export")
	s.task("Remove one.", "webhook", "delete", "builds")
	s.task("Run a deployment.", "deployment", "run", "nightly", "--name", "monday")
	w.flowRun("broken", "FAILED")
	s.task("What failed?", "flow-run", "ls", "--state", "failed")
	s.task("Why?", "flow-run", "logs", "broken")
	s.task("Cancel a run.", "flow-run", "cancel", "monday")
	s.task("Pause a deployment.", "deployment", "pause", "nightly")
	s.task("Is anything stuck?", "dead-letters", "ls")
	require.GreaterOrEqual(t, strings.Count(s.log.String(), "\n# "), 30)
	require.NotContains(t, s.log.String(), "battery-staple")
	s.golden("tasks.txt")
}

// rotate returns a new key of a service account.
func (s *shell) rotate(account string) string {
	s.t.Helper()
	out, err := s.try("", "service-account", "rotate", account, "-o", "json")
	require.NoError(s.t, err)
	var made struct {
		Key struct{ Key string } `json:"api_key"`
	}
	require.NoError(s.t, json.Unmarshal([]byte(out), &made))
	s.known = append(s.known, [2]string{made.Key.Key, "KEY"})
	return made.Key.Key
}

// TestManPages: every command has a page.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	_, err := orch(t, "", "man", dir)
	require.NoError(t, err)
	for _, name := range []string{"orch.1", "orch-webhook.1", "orch-webhook-create.1", "orch-dead-letter-ls.1", "orch-work-pool-create.1", "orch-workspace-revoke.1"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Contains(t, string(text), `.TH "ORCH`)
		require.NotContains(t, string(text), "Auto generated")
	}
	_, err = orch(t, "", "man")
	require.Error(t, err)
}
