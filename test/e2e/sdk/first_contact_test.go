//go:build e2esdk

package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/quickstart"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/test/e2e"
)

// firstContactVersions are the SDKs that newcomers have.
var firstContactVersions = []string{"3.1", "3.3", "3.6", "3.9"}

// authentication is a mode of the server.
type authentication struct {
	name string
	env  []string
	// secret returns the value of ORCH_API_KEY.
	secret func(t *testing.T, o *e2e.Orch) string
	kind   quickstart.Credential
}

const password = "ada:correct-horse-battery-staple"

var authentications = []authentication{
	{"none", nil, func(*testing.T, *e2e.Orch) string { return "" }, quickstart.None},
	{"keys", []string{"ORCH_AUTH=keys"}, ownerKey, quickstart.Key},
	{"basic", []string{"ORCH_AUTH_BASIC=" + password}, func(*testing.T, *e2e.Orch) string { return password }, quickstart.Password},
}

// ownerKey returns the key in the file that the banner names. The banner does not show it.
func ownerKey(t *testing.T, o *e2e.Orch) string {
	key := o.OwnerKey(t)
	require.NotContains(t, o.Processes[0].Output(), key)
	return key
}

// newcomer is somebody with a shell, an SDK and a server.
type newcomer struct {
	t      *testing.T
	server *e2e.Orch
	secret string
	python string // The SDK's environment.
}

// newNewcomer returns a newcomer with an SDK of a version and a server of their own.
func newNewcomer(t *testing.T, version string, env ...string) *newcomer {
	t.Helper()
	python, err := filepath.Abs(*environment + "-" + version)
	require.NoError(t, err)
	return &newcomer{t: t, server: e2e.StartSingleAt(t, programs, t.TempDir(), e2e.FreeAddress(t), env...), python: python}
}

// TestFirstContact runs the commands of the banner and of the empty home page as they are printed, by each SDK, on servers of
// each vocabulary and authentication. Task runs and their events arrive, or the SDK's console says what helps.
func TestFirstContact(t *testing.T) {
	for _, version := range firstContactVersions {
		for _, auth := range authentications {
			t.Run(version+"/"+auth.name, func(t *testing.T) {
				arrive := func(t *testing.T, vocab string, commands func(*newcomer) []string) {
					t.Helper()
					env := slices.Clone(auth.env)
					if vocab != "" {
						env = append(env, "ORCH_VOCABULARY="+vocab)
					}
					n := newNewcomer(t, version, env...)
					n.secret = auth.secret(t, n.server)
					for _, command := range commands(n) {
						n.succeed(command)
					}
					if vocab != "orch" {
						n.awaitTaskRun()
						return
					}
					root := quickstart.Server{API: n.server.API(), Vocabulary: vocabulary.Undecided, Credential: auth.kind}
					output, err := n.run(root.Flow())
					require.Error(t, err)
					require.Contains(t, unwrapped(output), "orch vocabulary convert --to prefect", "the console says what helps")
					require.Contains(t, n.home(), `id="refused"`, "and so does the dashboard")
				}
				for _, vocab := range []string{"", "prefect", "orch"} {
					name := map[string]string{"": "undecided"}[vocab] + vocab
					t.Run(name+"/page", func(t *testing.T) { arrive(t, vocab, (*newcomer).page) })
					t.Run(name+"/banner", func(t *testing.T) { arrive(t, vocab, (*newcomer).banner) })
				}
			})
		}
	}
}

// TestFirstContactWithoutCredentialOfSockets: SDKs before 3.4 send PREFECT_API_AUTH_STRING in HTTP requests only. Their console names the
// settings that they send over websockets too.
func TestFirstContactWithoutCredentialOfSockets(t *testing.T) {
	for _, version := range []string{"3.1", "3.3"} {
		t.Run(version, func(t *testing.T) {
			n := newNewcomer(t, version, "ORCH_AUTH_BASIC="+password, "ORCH_VOCABULARY=prefect")
			n.secret = password
			root := quickstart.Server{API: n.server.API(), Vocabulary: vocabulary.Prefect}
			output, err := n.run(vocabulary.ClientAuthSetting + `="$` + quickstart.Variable + `" ` + withoutInstall(root.Flow()))
			require.NoError(t, err, "%s", output)
			require.Contains(t, unwrapped(output), "set PREFECT_CLOUD_API_URL to the API's address and PREFECT_API_KEY to the key or user:password")
		})
	}
}

// TestFirstContactBehindAProxy: a proxy that strips the User-Agent hides the SDK from a server with the vocabulary orch. Its first event is
// refused, and then its writes. The dashboard says in red what helps, and so does the console, of the next flow run at the latest.
func TestFirstContactBehindAProxy(t *testing.T) {
	for _, version := range firstContactVersions {
		t.Run(version, func(t *testing.T) {
			n := newNewcomer(t, version, "ORCH_VOCABULARY=orch")
			target, err := url.Parse(n.server.URL)
			require.NoError(t, err)
			proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Header["User-Agent"] = nil
			}})
			t.Cleanup(proxy.Close)
			root := quickstart.Server{API: proxy.URL + "/api", Vocabulary: vocabulary.Undecided}
			output, err := n.run(withoutInstall(root.Flow()))
			t.Logf("%v\n%s", err, output)
			next, err := n.run(withoutInstall(root.Flow()))
			require.Error(t, err)
			require.Contains(t, unwrapped(next), "orch vocabulary convert --to prefect")
			home := n.home()
			require.Contains(t, home, `id="refused"`)
			require.Contains(t, home, "orch vocabulary convert --to prefect")
		})
	}
}

// withoutInstall returns the commands of a flow behind "pip install", so that variables can precede them.
func withoutInstall(flow string) string {
	_, command, _ := strings.Cut(flow, "\n")
	return command
}

// unwrapped returns an output without the line breaks of a console.
func unwrapped(output string) string { return strings.Join(strings.Fields(output), " ") }

// run runs a command in a shell, as somebody pastes it. Their environment has the SDK and no setting of it.
func (n *newcomer) run(command string) (string, error) {
	ctx, cancel := context.WithTimeout(n.t.Context(), waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = n.t.TempDir()
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "PREFECT_") || strings.HasPrefix(variable, "PATH=")
	})
	cmd.Env = append(cmd.Env, "PATH="+filepath.Join(n.python, "bin")+":"+os.Getenv("PATH"), "HOME="+n.t.TempDir(),
		"PREFECT_HOME="+n.t.TempDir(), quickstart.Variable+"="+n.secret)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// succeed runs a command that must work. A POST to a webhook answers 204.
func (n *newcomer) succeed(command string) {
	output, err := n.run(command)
	require.NoError(n.t, err, "%s\n%s", command, output)
	require.NotContains(n.t, output, `"detail"`, "%s\n%s", command, output)
	require.NotContains(n.t, output, "check your network settings", "%s\n%s", command, output)
	if strings.HasPrefix(command, "curl -i") {
		require.Contains(n.t, output, " 204 ", "%s\n%s", command, output)
	}
}

// banner returns the command that the server printed at its start.
func (n *newcomer) banner() []string {
	_, text, found := strings.Cut(n.server.Processes[0].Output(), "Try it:\n\n")
	require.True(n.t, found)
	command, _, found := strings.Cut(text, "\n\n")
	require.True(n.t, found)
	return []string{command}
}

var shown = regexp.MustCompile(`(?s)<div class="command"><pre class="wrap"><code>(.*?)</code>`)

// page returns the commands of the empty home page.
func (n *newcomer) page() []string {
	var commands []string
	for _, match := range shown.FindAllStringSubmatch(n.home(), -1) {
		commands = append(commands, html.UnescapeString(match[1]))
	}
	require.NotEmpty(n.t, commands)
	return commands
}

func (n *newcomer) home() string {
	return string(n.ask(http.MethodGet, n.server.URL+"/", ""))
}

// ask sends a request that must succeed.
func (n *newcomer) ask(method, url, body string) []byte {
	request, err := http.NewRequestWithContext(n.t.Context(), method, url, strings.NewReader(body))
	require.NoError(n.t, err)
	request.Header.Set("Content-Type", "application/json")
	if user, secret, found := strings.Cut(n.secret, ":"); found {
		request.SetBasicAuth(user, secret)
	} else if n.secret != "" {
		request.Header.Set("Authorization", "Bearer "+n.secret)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(n.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(n.t, err)
	require.Equal(n.t, http.StatusOK, response.StatusCode, "%s", text)
	return text
}

// awaitTaskRun waits until a completed task run and its events are stored.
func (n *newcomer) awaitTaskRun() {
	require.Eventually(n.t, func() bool {
		var runs []struct {
			State struct{ Type string } `json:"state"`
		}
		require.NoError(n.t, json.Unmarshal(n.ask(http.MethodPost, n.server.API()+"/task_runs/filter", "{}"), &runs))
		events := n.ask(http.MethodPost, n.server.API()+"/events/filter", `{"filter": {"event": {"name": ["prefect.task-run.Completed"]}}}`)
		return len(runs) == 1 && runs[0].State.Type == "COMPLETED" && bytes.Contains(events, []byte(`"prefect.task-run.Completed"`))
	}, time.Minute, 50*time.Millisecond, "the task run and its events arrive")
}
