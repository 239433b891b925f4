package standalone_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone"
)

// undecided runs a server on a directory without a named vocabulary.
func undecided(t *testing.T, dir string, settings ...string) *server {
	t.Helper()
	return start(t, dir, append([]string{"ORCH_VOCABULARY="}, settings...)...)
}

// agent is the User-Agent of Prefect's client.
const agent = "prefect/3.6.1 (API 0.8.4)"

// send sends a request with headers, and returns status and body.
func (s *server) send(method, path, body string, headers ...string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.root+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.http.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(text)
}

// pushed returns an event whose resource has an id in a vocabulary.
func pushed(vocabulary string) string {
	return fmt.Sprintf(`{"id": %q, "occurred": %q, "event": "pushed", "resource": {%q: "r"}}`,
		uuid.NewString(), time.Now().UTC().Format(time.RFC3339Nano), vocabulary+".resource.id")
}

// marked returns the vocabulary in a data directory's mark.
func marked(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "orch.json"))
	require.NoError(t, err)
	var mark struct{ Vocabulary string }
	require.NoError(t, json.Unmarshal(text, &mark))
	return mark.Vocabulary
}

// TestFirstWriteDecidesVocabulary: the sender of the first write decides, by what it shows of itself.
func TestFirstWriteDecidesVocabulary(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		headers []string
		want    string
	}{
		"Prefect's SDK":                     {[]string{"User-Agent", agent}, "prefect"},
		"a release candidate of the SDK":    {[]string{"User-Agent", "prefect/3.7.0rc1 (API 0.8.4)"}, "prefect"},
		"the SDK behind a stripping proxy":  {[]string{"User-Agent", "", "X-PREFECT-API-VERSION", "0.8.4"}, "prefect"},
		"curl":                              {[]string{"User-Agent", "curl/8.5.0"}, "orch"},
		"a browser":                         {[]string{"User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/130"}, "orch"},
		"the command line":                  {[]string{"User-Agent", "orch/1.0.0"}, "orch"},
		"Terraform's provider":              {[]string{"User-Agent", "Go-http-client/1.1"}, "orch"},
		"the SDK's HTTP library":            {[]string{"User-Agent", "python-httpx/0.28.1"}, "orch"},
		"no User-Agent":                     {[]string{"User-Agent", ""}, "orch"},
		"a User-Agent without API version":  {[]string{"User-Agent", "prefect/3.3.7"}, "orch"},
		"another case":                      {[]string{"User-Agent", "Prefect/3.3.7 (API 0.8.4)"}, "orch"},
		"a User-Agent with trailing text":   {[]string{"User-Agent", agent + " x"}, "orch"},
		"a User-Agent with a leading text":  {[]string{"User-Agent", "x " + agent}, "orch"},
		"an orch client's version header":   {[]string{"User-Agent", "x", "X-ORCH-API-VERSION", "0.8.4"}, "orch"},
		"a browser with Prefect's own page": {[]string{"User-Agent", "Mozilla/5.0", "X-PREFECT-API-VERSION", "0.8.4"}, "prefect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := undecided(t, dir)
			for _, read := range []struct{ method, path, body string }{
				{"GET", "/api/admin/version", ""},
				{"POST", "/api/flows/filter", "{}"},
				{"POST", "/api/flow_runs/count", "{}"},
				{"GET", "/api/csrf-token?client=x", ""},
				{"POST", "/api/webhooks/render", `{"template": "x"}`},
			} {
				t.Run(read.method, func(t *testing.T) {
					s.send(read.method, read.path, read.body, test.headers...)
					require.Equal(t, "undecided", marked(t, dir), "%s %s", read.method, read.path)
				})
			}
			_, version := s.send("GET", "/api/admin/version", "", test.headers...)
			theirs := test.want == "prefect" || vocabulary.Anonymous(test.headers[1])
			require.Equal(t, theirs, strings.Contains(version, `"3.`), "Prefect's clients compare the major version")

			status, body := s.send("POST", "/api/flows/", `{"name": "hello"}`, test.headers...)
			require.Equal(t, 201, status, body)
			require.Equal(t, test.want, marked(t, dir))
			_, page := s.send("GET", "/status", "")
			require.Contains(t, page, "<dd>"+test.want+"</dd>", "the status page shows it")
			status, body = s.send("POST", "/api/events", "["+pushed(test.want)+"]")
			require.Equal(t, 204, status, body)

			s.stop()
			again := undecided(t, dir)
			require.Equal(t, 200, again.ask(http.MethodGet, "/flows/name/hello", "", nil))
			require.Equal(t, test.want, marked(t, dir), "the data decides at the next start")
		})
	}
}

// TestInvalidFirstWriteDecides: the decision precedes the judgement of the write.
func TestInvalidFirstWriteDecides(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := undecided(t, dir)
	status, _ := s.send("POST", "/api/flows/", `{"name": 7}`, "User-Agent", agent)
	require.Equal(t, 422, status)
	require.Equal(t, "prefect", marked(t, dir))
}

// TestRequestsThatDoNotDecide: senders who may not write, and requests for nothing.
func TestRequestsThatDoNotDecide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := undecided(t, dir, "ORCH_AUTH_BASIC=user:pass")
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:pass"))
	for name, test := range map[string]struct {
		method, path string
		headers      []string
	}{
		"no password":              {"POST", "/api/flows/", nil},
		"a wrong password":         {"POST", "/api/flows/", []string{"Authorization", "Basic eDp5"}},
		"an unknown path":          {"POST", "/api/nothing", []string{"Authorization", basic}},
		"another method":           {"PUT", "/api/flows/", []string{"Authorization", basic}},
		"a page of another site":   {"POST", "/api/flows/", []string{"Authorization", basic, "Origin", "http://evil.example"}},
		"an old version header":    {"POST", "/api/flows/", []string{"Authorization", basic, "X-PREFECT-API-VERSION", "0.7.9"}},
		"a webhook":                {"POST", "/hooks/unknown", nil},
		"a form without a token":   {"POST", "/webhooks/new", []string{"Authorization", basic, "Content-Type", "application/x-www-form-urlencoded"}},
		"signing in":               {"POST", "/login", []string{"Content-Type", "application/x-www-form-urlencoded"}},
		"a socket without a token": {"GET", "/api/events/in", []string{"Upgrade", "websocket", "Connection", "Upgrade"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.send(test.method, test.path, `{"name": "hello"}`, append([]string{"User-Agent", agent}, test.headers...)...)
			require.Equal(t, "undecided", marked(t, dir), name)
		})
	}
	status, body := s.send("POST", "/api/flows/", `{"name": "hello"}`, "Authorization", basic, "User-Agent", agent)
	require.Equal(t, 201, status, body)
	require.Equal(t, "prefect", marked(t, dir))
}

// TestConcurrentFirstWritesDecideOnce: all of them are served by one vocabulary, those of the other one's client refused.
func TestConcurrentFirstWritesDecideOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := undecided(t, dir)
	const writers = 16
	statuses := make([]int, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			headers := []string{"User-Agent", "curl/8"}
			if i%2 == 0 {
				headers[1] = agent
			}
			statuses[i], _ = s.send("POST", "/api/flows/", fmt.Sprintf(`{"name": "flow-%d"}`, i), headers...)
		})
	}
	all.Wait()
	decided := marked(t, dir)
	for i, status := range statuses {
		want := 201
		if i%2 == 0 && decided == "orch" {
			want = 400
		}
		require.Equal(t, want, status, "writer %d of a server that is %s", i, decided)
	}
	s.stop()
	again := undecided(t, dir)
	var count int
	require.Equal(t, 200, again.ask(http.MethodPost, "/flows/count", "{}", &count))
	require.Equal(t, map[string]int{"orch": writers / 2, "prefect": writers}[decided], count)
}

// TestSocketDecides: the events of a client may be its first write.
func TestSocketDecides(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		subprotocol, password, want string
		header                      http.Header
		first                       string
		again                       bool // The socket must connect again.
	}{
		"Prefect's subprotocol":   {"prefect", "", "prefect", nil, `{"type":"auth","token":null}`, false},
		"orch's subprotocol":      {"orch", "", "orch", nil, `{"type":"auth","token":null}`, false},
		"Prefect's User-Agent":    {"", "", "prefect", http.Header{"User-Agent": {agent}}, "", false},
		"a password in a message": {"prefect", "user:pass", "prefect", nil, `{"type":"auth","token":"user:pass"}`, true},
		"a password in a header": {
			"prefect", "user:pass", "prefect", http.Header{"Authorization": {"Basic dXNlcjpwYXNz"}}, `{"type":"auth","token":"user:pass"}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := undecided(t, dir, "ORCH_AUTH_BASIC="+test.password)
			open := func() *client {
				c := s.dial("/events/in", test.subprotocol, test.header)
				if test.first != "" {
					c.send(test.first)
					require.JSONEq(t, `{"type":"auth_success"}`, c.receive())
				}
				return c
			}
			c := open()
			require.Equal(t, test.want, marked(t, dir))
			if test.again {
				code, reason := c.closed()
				require.Equal(t, websocket.StatusServiceRestart, code, reason)
				c = open()
			}
			c.send(pushed(test.want))
			require.Eventually(t, func() bool {
				_, body := s.send("POST", "/api/events/filter", `{}`, "Authorization", "Basic dXNlcjpwYXNz")
				return strings.Contains(body, `"event":"pushed"`)
			}, waitTimeout, tick)
		})
	}
}

// TestReadingSocketsDoNotDecide: whoever only follows writes nothing.
func TestReadingSocketsDoNotDecide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := undecided(t, dir)
	for _, path := range []string{"/events/out", "/logs/out"} {
		c := s.dial(path, "prefect", nil)
		c.send(`{"type":"auth","token":null}`)
		require.JSONEq(t, `{"type":"auth_success"}`, c.receive())
		require.Equal(t, "undecided", marked(t, dir))
	}
}

// TestOwnerKeyFromBeforeTheDecision works in both vocabularies, and an undecided server can be named, backed up and
// restored.
func TestOwnerKeyFromBeforeTheDecision(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"orch", "prefect"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			h := startHosted(t, "")
			headers := []string{"Authorization", "Bearer " + h.owner, "Content-Type", "application/json"}
			if want == "prefect" {
				headers = append(headers, "User-Agent", agent)
			}
			require.Equal(t, 403, h.send("POST", h.root+"/flows/", `{"name": "a"}`, "Authorization", "Bearer "+h.owner, "Origin", "http://evil.example").status)
			require.Equal(t, 201, h.send("POST", h.root+"/flows/", `{"name": "a"}`, headers...).status)
			require.Equal(t, 200, h.do(h.owner, "GET", "/me/", "").status)
			made := h.must(h.owner, 201, "POST", accountPath+"/bots/", `{"name": "ci"}`)
			require.Contains(t, at(made, "api_key", "key"), want[:1]+"nb_")
		})
	}
}

// TestUndecidedData: the next start, a name, a backup and its restored copy continue where the server was.
func TestUndecidedData(t *testing.T) {
	t.Parallel()
	dir, backup, restored := t.TempDir(), filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "r")
	s := undecided(t, dir)
	require.NoError(t, standalone.Backup(t.Context(), dir, backup, standalone.BackupOptions{}, quiet))
	s.stop()
	require.NoError(t, standalone.Restore(t.Context(), backup, restored))
	r := undecided(t, restored)
	require.Equal(t, "undecided", marked(t, restored))
	status, _ := r.send("POST", "/api/flows/", `{"name": "a"}`, "User-Agent", agent)
	require.Equal(t, 201, status)
	require.Equal(t, "prefect", marked(t, restored))

	undecided(t, dir).stop()
	require.Equal(t, "undecided", marked(t, dir))
	start(t, dir, "ORCH_VOCABULARY=prefect").stop()
	require.Equal(t, "prefect", marked(t, dir))
	start(t, dir, "ORCH_VOCABULARY=").stop()
	cfg, err := config.LoadFrom[standalone.Config](map[string]string{"ORCH_DATA_DIR": dir, "ORCH_GATEWAY_LISTEN": "127.0.0.1:0", "ORCH_VOCABULARY": "orch"})
	require.NoError(t, err)
	_, err = standalone.New(t.Context(), cfg, "test", quiet)
	require.ErrorContains(t, err, "--vocabulary prefect")
}

// TestKilledBetweenMarkAndStore: the mark is the decision; the store follows at the next start.
func TestKilledBetweenMarkAndStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	undecided(t, dir).stop()
	path := filepath.Join(dir, "orch.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.Replace(text, []byte("undecided"), []byte("prefect"), 1), 0o600))
	s := undecided(t, dir)
	status, body := s.send("POST", "/api/events", "["+pushed("prefect")+"]")
	require.Equal(t, 204, status, body)
}

// TestPrefectsClientIsRefused by a server with the vocabulary orch when it writes and on its sockets, and nobody else is.
func TestPrefectsClientIsRefused(t *testing.T) {
	t.Parallel()
	const remedy = "orch vocabulary convert --to prefect"
	s := start(t, t.TempDir())
	_, page := s.send("GET", "/", "")
	require.NotContains(t, page, `id="refused"`)
	for _, other := range []string{
		"", "curl/8.5.0", "Mozilla/5.0", "orch/1.0.0", "Go-http-client/1.1", "prefect/3.3.7", "Prefect/3.3.7 (API 0.8.4)", agent + " x",
	} {
		status, body := s.send("POST", "/api/flows/", `{"name": "a"}`, "User-Agent", other, "X-PREFECT-API-VERSION", "0.8.4")
		require.Contains(t, []int{200, 201}, status, "%s: %s", other, body)
	}
	status, version := s.send("GET", "/api/admin/version", "", "User-Agent", agent)
	require.Equal(t, 200, status)
	require.Contains(t, version, `"3.`, "another major version would hide the refusal")
	_, version = s.send("GET", "/api/admin/version", "", "User-Agent", "curl/8")
	require.NotContains(t, version, `"3.`)
	status, _ = s.send("POST", "/api/flows/filter", "{}", "User-Agent", agent)
	require.Equal(t, 200, status, "reads are served")

	status, body := s.send("POST", "/api/flows/", `{"name": "b"}`, "User-Agent", agent)
	require.Equal(t, 400, status)
	require.Contains(t, body, remedy)
	require.Equal(t, 404, s.ask(http.MethodGet, "/flows/name/b", "", nil), "nothing is written")
	for _, path := range socketPaths {
		c := s.dial(path, "prefect", http.Header{"User-Agent": {agent}})
		c.send(`{"type":"auth","token":null}`)
		code, reason := c.closed()
		require.Equal(t, websocket.StatusPolicyViolation, code)
		require.Contains(t, reason, remedy)
	}
	_, page = s.send("GET", "/", "")
	require.Contains(t, page, `id="refused"`)
	require.Contains(t, page, "prefect/3.6.1")
	require.Contains(t, page, "127.0.0.1")
	require.Contains(t, page, remedy)
}

// TestEventsOfTheOtherVocabularyAreRefused in both directions, with the command that helps, and shown.
func TestEventsOfTheOtherVocabularyAreRefused(t *testing.T) {
	t.Parallel()
	for own, other := range map[string]string{"orch": "prefect", "prefect": "orch"} {
		t.Run(own, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir(), "ORCH_VOCABULARY="+own)
			remedy := "orch vocabulary convert --to " + other
			status, body := s.send("POST", "/api/events", "["+pushed(other)+"]", "User-Agent", "")
			require.Equal(t, 422, status)
			require.Contains(t, body, remedy)
			c := s.dial("/events/in", other, http.Header{"User-Agent": {"x/1"}})
			c.send(`{"type":"auth","token":null}`)
			require.JSONEq(t, `{"type":"auth_success"}`, c.receive())
			c.send(pushed(other))
			code, reason := c.closed()
			require.Equal(t, websocket.StatusInvalidFramePayloadData, code)
			require.Contains(t, reason, remedy)
			_, page := s.send("GET", "/", "")
			require.Contains(t, page, "a client without User-Agent")
			require.Contains(t, page, "x/1")
			require.Contains(t, page, remedy)

			status, body = s.send("POST", "/api/events", "["+pushed("x")+"]")
			require.Equal(t, 422, status)
			require.NotContains(t, body, remedy, "an event without any label is only invalid")
		})
	}
}

// TestHiddenClientIsRefusedAfterItsEvents: a proxy has stripped the User-Agent of Prefect's client. After its first refused
// event its writes and sockets are refused with the command; other clients at the address are served.
func TestHiddenClientIsRefusedAfterItsEvents(t *testing.T) {
	t.Parallel()
	const remedy = "orch vocabulary convert --to prefect"
	marks := map[string][]string{"API version": {"X-PREFECT-API-VERSION", "0.8.4"}, "CSRF tokens": {"Prefect-Csrf-Client", "a"}}
	for name, mark := range marks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir(), "ORCH_VOCABULARY=orch")
			hidden := append([]string{"User-Agent", ""}, mark...)
			status, body := s.send("POST", "/api/flows/", `{"name": "a"}`, hidden...)
			require.Equal(t, 201, status, body)
			c := s.dial("/events/in", "prefect", http.Header{"User-Agent": {""}})
			c.send(`{"type":"auth","token":null}`)
			require.JSONEq(t, `{"type":"auth_success"}`, c.receive())
			c.send(pushed("prefect"))
			c.closed()

			status, body = s.send("POST", "/api/flows/", `{"name": "b"}`, hidden...)
			require.Equal(t, 400, status)
			require.Contains(t, body, remedy)
			require.Equal(t, 404, s.ask(http.MethodGet, "/flows/name/b", "", nil), "nothing is written")
			status, _ = s.send("POST", "/api/flows/filter", "{}", hidden...)
			require.Equal(t, 200, status, "reads are served")
			c = s.dial("/events/in", "prefect", http.Header{"User-Agent": {""}})
			c.send(`{"type":"auth","token":null}`)
			code, reason := c.closed()
			require.Equal(t, websocket.StatusPolicyViolation, code)
			require.Contains(t, reason, remedy)

			for name, other := range map[string][]string{
				"no mark of Prefect's clients": {"User-Agent", ""}, "another User-Agent": append([]string{"User-Agent", "terraform/1"}, mark...),
			} {
				status, body = s.send("POST", "/api/flows/", `{"name": "c"}`, other...)
				require.Contains(t, []int{200, 201}, status, "%s: %s", name, body)
			}
		})
	}
}

// TestFirstCommandsFitVocabulary: a server offers Prefect's client where it serves that client.
func TestFirstCommandsFitVocabulary(t *testing.T) {
	t.Parallel()
	for name, offered := range map[string]bool{"": true, "orch": false, "prefect": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir(), "ORCH_VOCABULARY="+name)
			_, page := s.send("GET", "/", "")
			require.Equal(t, offered, strings.Contains(page, "pip install prefect"))
			require.Equal(t, !offered, strings.Contains(page, "orch vocabulary convert --to prefect"))
		})
	}
}
