package standalone_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone"
)

// hosted is a running server with API keys.
type hosted struct {
	t     testing.TB
	http  *http.Client
	root  string
	owner string // The owner's key.
}

// Paths of the default account and workspace.
var (
	accountPath   = "/accounts/" + request.DefaultAccount.String()
	workspacePath = accountPath + "/workspaces/" + request.DefaultWorkspace.String()
)

func startHosted(t testing.TB, vocabulary string, settings ...string) *hosted {
	t.Helper()
	return startHostedWithLog(t, quiet, vocabulary, settings...)
}

func startHostedWithLog(t testing.TB, log *slog.Logger, vocabulary string, settings ...string) *hosted {
	t.Helper()
	env := map[string]string{
		"ORCH_DATA_DIR": t.TempDir(), "ORCH_GATEWAY_LISTEN": "127.0.0.1:0", "ORCH_INTERNAL_LISTEN": "127.0.0.1:0",
		"ORCH_AUTH": "keys", "ORCH_VOCABULARY": vocabulary,
	}
	for i := 0; i < len(settings); i += 2 {
		env[settings[i]] = settings[i+1]
	}
	cfg, err := config.LoadFrom[standalone.Config](env)
	require.NoError(t, err)
	s, err := standalone.New(t.Context(), cfg, "test", log)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	h := &hosted{t: t, http: &http.Client{Transport: transport}, root: "http://" + s.Addr().String() + "/api", owner: s.OwnerKey()}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		require.NoError(t, <-done)
	})
	require.NotEmpty(t, h.owner)
	require.Eventually(t, func() bool { return h.do("", "GET", "/ready", "").status == http.StatusOK }, time.Minute, time.Millisecond)
	return h
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request with a key; an empty key sends none.
func (h *hosted) do(key, method, path, body string) reply {
	h.t.Helper()
	return h.doFrom("", key, method, path, body)
}

// doFrom is do for a client at an address behind a proxy; the proxy must be trusted.
func (h *hosted) doFrom(from, key, method, path, body string) reply {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.root+path, strings.NewReader(body))
	require.NoError(h.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if from != "" {
		r.Header.Set("X-Forwarded-For", from)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := h.http.Do(r)
	require.NoError(h.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(h.t, err)
	return reply{response.StatusCode, response.Header, string(text)}
}

// must sends a request that must be answered with the status, and reads the answer.
func (h *hosted) must(key string, status int, method, path, body string) map[string]any {
	h.t.Helper()
	got := h.do(key, method, path, body)
	require.Equal(h.t, status, got.status, "%s %s: %s", method, path, got.body)
	return h.decode(got)
}

// decode reads an answer that is an object; nil when it is none.
func (h *hosted) decode(got reply) map[string]any {
	h.t.Helper()
	var out map[string]any
	if strings.HasPrefix(got.body, "{") {
		require.NoError(h.t, json.Unmarshal([]byte(got.body), &out))
	}
	return out
}

// at is a text in an answer, down a path of keys.
func at(m map[string]any, path ...string) string {
	for _, key := range path[:len(path)-1] {
		m, _ = m[key].(map[string]any)
	}
	text, _ := m[path[len(path)-1]].(string)
	return text
}

// tenant is an account of its own with its owner's key and its first workspace.
type tenant struct{ account, workspace, key, user string }

func (t tenant) accountPath() string   { return "/accounts/" + t.account }
func (t tenant) workspacePath() string { return t.accountPath() + "/workspaces/" + t.workspace }

func (h *hosted) tenant(name string) tenant {
	h.t.Helper()
	account := at(h.must(h.owner, 201, "POST", "/accounts/", fmt.Sprintf(`{"name": %q}`, name)), "id")
	member := h.must(h.owner, 201, "POST", "/accounts/"+account+"/account_memberships/",
		fmt.Sprintf(`{"email": "%s@example.com", "account_role_id": "00000000-0000-8000-8000-0000000000a1"}`, name))
	out := tenant{account: account, key: at(member, "api_key", "key"), user: at(member, "user_id")}
	var mine []map[string]any
	got := h.do(out.key, "GET", "/me/workspaces", "")
	require.Equal(h.t, 200, got.status, got.body)
	require.NoError(h.t, json.Unmarshal([]byte(got.body), &mine))
	require.Len(h.t, mine, 1)
	out.workspace = at(mine[0], "workspace_id")
	return out
}

// member adds a user to the default account with a role in the default workspace, and returns their key.
func (h *hosted) member(name, workspaceRole string) string {
	h.t.Helper()
	return h.memberWith(name, access.AccountMember, workspaceRole)
}

// memberWith is member with a role in the account. The workspace role is empty for one whose account role owns all workspaces.
func (h *hosted) memberWith(name, accountRole, workspaceRole string) string {
	h.t.Helper()
	member := h.must(h.owner, 201, "POST", accountPath+"/account_memberships/",
		fmt.Sprintf(`{"email": "%s@example.com", "account_role_id": %q}`, name, accountRole))
	if workspaceRole != "" {
		h.must(h.owner, 200, "POST", workspacePath+"/user_access/",
			fmt.Sprintf(`[{"workspace_role_id": %q, "user_id": %q}]`, workspaceRole, at(member, "user_id")))
	}
	return at(member, "api_key", "key")
}

// The owner's key is shown once, so a first start that fails must not have made it.
func TestFailedStartKeepsTheOwnersKey(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	dir := t.TempDir()
	open := func(listen string) (*standalone.Server, error) {
		cfg, err := config.LoadFrom[standalone.Config](map[string]string{
			"ORCH_DATA_DIR": dir, "ORCH_GATEWAY_LISTEN": listen, "ORCH_INTERNAL_LISTEN": "none", "ORCH_AUTH": "keys",
		})
		require.NoError(t, err)
		return standalone.New(t.Context(), cfg, "test", quiet)
	}
	_, err = open(taken.Addr().String())
	require.ErrorContains(t, err, "address already in use")
	s, err := open("127.0.0.1:0")
	require.NoError(t, err)
	require.NotEmpty(t, s.OwnerKey())
	require.Empty(t, s.InternalURL())
	require.NoError(t, s.Close(t.Context()))
}

// TestOwnerKeyOfServices: the owner's key is made on the broker and the store that the services share, and is good at once.
func TestOwnerKeyOfServices(t *testing.T) {
	dir := t.TempDir()
	infra, err := standalone.NewInfra(standalone.InfraConfig{DataDir: dir, MongoListen: "127.0.0.1:0", NATSListen: "127.0.0.1:0"}, quiet)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- infra.Run(ctx) }()
	cfg, err := config.LoadFrom[orchestration.Config](map[string]string{
		"ORCH_MONGODB_URI": infra.MongoURI(), "ORCH_NATS_URL": infra.NATSURL(), "ORCH_SECRETS_KEY_FILE": infra.SecretsFile(),
	})
	require.NoError(t, err)
	var first, second strings.Builder
	require.NoError(t, orchestration.OwnerKey(t.Context(), cfg, &first, quiet))
	require.NoError(t, orchestration.OwnerKey(t.Context(), cfg, &second, quiet))
	require.NotEqual(t, first.String(), second.String())
	cancel()
	require.NoError(t, <-done)

	s := start(t, dir, "ORCH_AUTH=keys")
	for _, key := range []string{first.String(), second.String()} {
		status := func() int {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.api+"/me/", nil)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
			response, err := s.http.Do(r)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			return response.StatusCode
		}
		require.Equal(t, http.StatusOK, status())
	}
}
