package standalone_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/auth"
)

// book keeps what is logged.
type book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// send sends a request with headers of the caller's choice.
func (h *hosted) send(method, url, body string, headers ...string) reply {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, url, strings.NewReader(body))
	require.NoError(h.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := h.http.Do(r)
	require.NoError(h.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(h.t, err)
	return reply{response.StatusCode, response.Header, string(text)}
}

// TestNoHeaderBindsARequest: what the gateway tells the services comes from the path and the key alone.
func TestNoHeaderBindsARequest(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	victim, thief := h.tenant("victim"), h.tenant("thief")
	h.must(victim.key, 201, "POST", victim.workspacePath()+"/variables/", `{"name": "treasure", "value": 1}`)
	const owner = "00000000-0000-8000-8000-00000000000b"
	for _, name := range []string{
		"orch-workspace", "orch-account", "orch-caller", "Grpc-Metadata-Orch-Workspace", "Grpc-Metadata-Orch-Account", "X-Orch-Workspace",
		"X-Prefect-Workspace", "X-Forwarded-Prefix", "X-Original-Url", "X-Rewrite-Url",
	} {
		value := victim.workspace
		switch {
		case strings.HasSuffix(strings.ToLower(name), "account"):
			value = victim.account
		case strings.HasSuffix(name, "caller"):
			value = "administrator " + owner + " " + owner
		case strings.HasSuffix(name, "Prefix"), strings.HasSuffix(name, "Url"):
			value = "/api" + victim.workspacePath() + "/variables/filter"
		}
		got := h.send("POST", h.root+thief.workspacePath()+"/variables/filter", "{}", "Authorization", "Bearer "+thief.key, name, value)
		require.Equal(t, 200, got.status, name)
		require.Equal(t, "[]", got.body, name)
		got = h.send("POST", h.root+"/accounts/", `{"name": "made by force"}`, "Authorization", "Bearer "+thief.key, name, value)
		require.Equal(t, 403, got.status, name)
	}
	for _, path := range []string{
		thief.workspacePath() + "/../" + victim.workspace + "/variables/filter",
		thief.workspacePath() + "/..%2f" + victim.workspace + "/variables/filter",
		thief.workspacePath() + "/%2e%2e/" + victim.workspace + "/variables/filter",
		thief.workspacePath() + victim.workspacePath() + "/variables/filter",
		thief.accountPath() + "/workspaces/" + victim.workspace + "/variables/filter",
		strings.ToUpper(victim.workspacePath()[:len("/accounts")]) + victim.workspacePath()[len("/accounts"):] + "/variables/filter",
		thief.workspacePath() + "/variables/filter?workspace_id=" + victim.workspace + "&account_id=" + victim.account,
	} {
		got := h.send("POST", h.root+path, "{}", "Authorization", "Bearer "+thief.key)
		require.NotContains(t, got.body, "treasure", path)
	}
	for _, method := range []string{"X-HTTP-Method-Override", "X-Method-Override"} {
		h.send("POST", h.root+victim.workspacePath()+"/variables/name/treasure", "", "Authorization", "Bearer "+victim.key, method, "DELETE")
		require.Equal(t, 200, h.do(victim.key, "GET", victim.workspacePath()+"/variables/name/treasure", "").status, method)
	}
}

// TestCredentialsAreOneKeyWhole: neither parts, nor several, nor too much of anything is a key; and a page of another
// origin cannot use the one that a browser remembers.
func TestCredentialsAreOneKeyWhole(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	wrong, _ := auth.NewKey("onu_")
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	good := "Bearer " + h.owner
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"the key":                {[]string{"Authorization", good}, 200},
		"a browser's password":   {[]string{"Authorization", basic("", h.owner)}, 200},
		"a browser's user":       {[]string{"Authorization", basic(h.owner, "")}, 401},
		"upper case":             {[]string{"Authorization", "Bearer " + strings.ToUpper(h.owner)}, 401},
		"with a tail":            {[]string{"Authorization", good + "a"}, 401},
		"twice in one":           {[]string{"Authorization", good + "," + good}, 401},
		"behind a wrong one":     {[]string{"Authorization", "Bearer " + wrong, "Authorization", good}, 401},
		"no scheme":              {[]string{"Authorization", h.owner}, 401},
		"another scheme":         {[]string{"Authorization", "Token " + h.owner}, 401},
		"another header":         {[]string{"X-Api-Key", h.owner}, 401},
		"the proxy's header":     {[]string{"Proxy-Authorization", good}, 401},
		"a cookie":               {[]string{"Cookie", "token=" + h.owner}, 401},
		"60 KiB":                 {[]string{"Authorization", "Bearer " + strings.Repeat("a", 60<<10)}, 401},
		"NUL":                    {[]string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+h.owner+"\x00"))}, 401},
		"a page of another host": {[]string{"Authorization", basic("", h.owner), "Origin", "https://evil.example"}, 403},
		"a page without origin":  {[]string{"Authorization", basic("", h.owner), "Origin", "null"}, 403},
		"a page of another port": {[]string{"Authorization", basic("", h.owner), "Origin", "http://127.0.0.1:1"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, h.send("POST", h.root+"/flows/count", "", c.headers...).status, name)
		})
	}
	require.Equal(t, 401, h.send("POST", h.root+"/flows/count?token="+h.owner+"&access_token="+h.owner+"&api_key="+h.owner, "").status, "not in the address")
	require.Equal(t, 401, h.send("GET", strings.TrimSuffix(h.root, "/api")+"/", "").status, "the dashboard")
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/vars", "/api/metrics", "/hooks/../metrics"} {
		got := h.send("GET", strings.TrimSuffix(h.root, "/api")+path, "", "Authorization", good)
		require.Equal(t, 404, got.status, "%s is the internal listener's", path)
	}
}

// TestSocketsAreOfOneWorkspace: a key opens the sockets of its own workspaces alone, and a dead one none.
func TestSocketsAreOfOneWorkspace(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	stranger := h.tenant("stranger")
	viewer := h.member("viewer", access.WorkspaceViewer)
	bot := h.must(h.owner, 201, "POST", accountPath+"/bots/", `{"name": "gone"}`)
	h.must(h.owner, 200, "POST", "/bot_access/", fmt.Sprintf(`{"workspace_role_id": %q, "bot_id": %q}`, access.WorkspaceOwner, at(bot, "id")))
	open := func(path, hello string, header http.Header) error {
		c, _, err := websocket.Dial(t.Context(), h.root+path, &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{"orch"}}) //nolint:bodyclose // Dial leaves none open.
		if err != nil {
			return err
		}
		defer c.CloseNow()
		if err := c.Write(t.Context(), websocket.MessageText, []byte(hello)); err != nil {
			return err // The server ended the connection in the middle of a long message.
		}
		_, _, err = c.Read(t.Context())
		return err
	}
	hello := func(token string) string { return fmt.Sprintf(`{"type": "auth", "token": %q}`, token) }
	dead := at(bot, "api_key", "key")
	require.NoError(t, open("/events/in", hello(dead), nil))
	h.must(h.owner, 204, "DELETE", accountPath+"/bots/"+at(bot, "id"), "")
	require.NoError(t, open("/events/in", hello(h.owner), nil))
	require.NoError(t, open(stranger.workspacePath()+"/events/in", hello(stranger.key), nil))
	for name, c := range map[string]struct {
		path, hello string
		header      http.Header
	}{
		"a dead key":                            {"/events/in", hello(dead), nil},
		"another account's, no ids":             {"/events/in", hello(stranger.key), nil},
		"another account's":                     {workspacePath + "/events/in", hello(stranger.key), nil},
		"ours at another's":                     {stranger.workspacePath() + "/events/in", hello(viewer), nil},
		"another's workspace below our account": {accountPath + "/workspaces/" + stranger.workspace + "/events/in", hello(h.owner), nil},
		"a viewer":                              {"/events/in", hello(viewer), nil},
		"no token":                              {"/events/in", `{"type": "auth"}`, nil},
		"the header is not the token":           {"/events/in", hello(""), http.Header{"Authorization": {"Bearer " + h.owner}}},
		"a long token":                          {"/events/in", hello(strings.Repeat("a", 1<<20)), nil},
		"a page of another host":                {"/events/in", hello(h.owner), http.Header{"Origin": {"https://evil.example"}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, open(c.path, c.hello, c.header), name)
		})
	}
}

// TestSecretsAreNotLogged, whatever is done with them, at the level at which most is logged.
func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	logged := &book{}
	h := startHostedWithLog(t, slog.New(slog.NewJSONHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})), "orch")
	wrong, _ := auth.NewKey("onu_")
	bot := h.must(h.owner, 201, "POST", accountPath+"/bots/", `{"name": "ci"}`)
	rotated := h.must(h.owner, 201, "POST", accountPath+"/bots/"+at(bot, "id")+"/rotate_api_key", `{}`)
	hook := h.must(h.owner, 201, "POST", "/webhooks/", fmt.Sprintf(
		`{"name": "w", "template": "{{ body.x.y() }}", "service_account_id": %q, "verification": {"scheme": "github", "secrets": ["canary-signing-secret"]}}`, at(bot, "id")))
	for _, key := range []string{wrong, at(bot, "api_key", "key"), at(rotated, "api_key", "key"), "canary-malformed-key"} {
		h.do(key, "GET", "/me/", "")
		h.do(key, "POST", "/flows/filter?token="+key, fmt.Sprintf(`{"limit": %q}`, "canary-body"))
		h.send("POST", strings.TrimSuffix(h.root, "/api")+"/hooks/"+at(hook, "slug")+"?token="+key, "{}", "Authorization", "Bearer "+key)
	}
	h.send("GET", h.root+"/nowhere/"+wrong, "", "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("canary-user:canary-password")))
	h.do(h.owner, "GET", "/flows/"+"not-an-id", "")
	require.Contains(t, logged.String(), "/flows/filter", "requests are logged")
	for _, secret := range []string{
		h.owner, at(bot, "api_key", "key"), at(rotated, "api_key", "key"), at(hook, "slug"), "canary-signing-secret", "canary-malformed-key",
		"canary-password", "canary-body", base64.StdEncoding.EncodeToString([]byte("canary-user:canary-password")),
	} {
		require.NotContains(t, logged.String(), secret)
	}
	require.NotContains(t, logged.String(), wrong, "also where it was put into an address")
}
