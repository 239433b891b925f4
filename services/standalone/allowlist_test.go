package standalone_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// TestAccountsAreUsedFromAllowedAddresses, by everything that the gateway serves of them, and other accounts are not
// concerned.
func TestAccountsAreUsedFromAllowedAddresses(t *testing.T) {
	t.Parallel()
	const inside, outside = "192.0.2.7", "198.51.100.7"
	h := startHosted(t, "orch", "ORCH_TRUSTED_PROXIES", "127.0.0.1")
	a, b := h.tenant("a"), h.tenant("b")
	list, settings := a.accountPath()+"/ip_allowlist", a.accountPath()+"/settings"
	do := func(from, method, path, body string) reply { return h.doFrom(from, a.key, method, path, body) }
	require.Equal(t, `{"entries":[]}`, do(outside, "GET", list, "").body)
	require.Contains(t, do(outside, "GET", list+"/my_access", "").body, `"allowed":false`)
	require.Equal(t, 422, do(outside, "PATCH", settings, `{"enforce_ip_allowlist": true}`).status, "nobody locks themselves out")

	entries := `{"entries":[{"ip_network":"192.0.2.0/24","enabled":true,"description":null},{"ip_network":"198.51.100.7","enabled":false,"description":"a \"laptop\""}]}`
	require.Equal(t, 204, do(outside, "PUT", list, entries).status, "the list can be made before it holds")
	require.Equal(t, entries, do(outside, "GET", list, "").body, "as it was written")
	for name, body := range map[string]string{
		"no network": `{"entries": [{"ip_network": "everywhere"}]}`,
		"twice":      `{"entries": [{"ip_network": "10.0.0.0/8"}, {"ip_network": "10.1.2.3/8"}]}`,
		"no list":    `{}`,
		"too many":   fmt.Sprintf(`{"entries": [%s{"ip_network": "10.1.1.1"}]}`, repeated(25, `{"ip_network": "10.0.0.%d"},`)),
	} {
		require.Equal(t, 422, do(inside, "PUT", list, body).status, name)
	}
	require.Contains(t, do(inside, "GET", list+"/my_access", "").body, `"allowed":true`)
	require.Contains(t, do(outside, "GET", list+"/my_access", "").body, `"allowed":false`, "the entry is not enabled")
	require.Equal(t, 422, do(outside, "PATCH", settings, `{"enforce_ip_allowlist": true}`).status)
	require.Equal(t, 204, do(inside, "PATCH", settings, `{"enforce_ip_allowlist": true}`).status)

	paths := []string{a.accountPath() + "/", list, a.workspacePath() + "/variables/count", a.workspacePath() + "/flows/count"}
	bot := at(h.decode(do(inside, "POST", a.accountPath()+"/bots/", `{"name": "ci"}`)), "api_key", "key")
	for _, path := range paths {
		method := "GET"
		if path[len(path)-5:] == "count" {
			method = "POST"
		}
		require.Equal(t, 200, do(inside, method, path, "").status, path)
		for _, from := range []string{outside, "", "unknown", outside + ", " + "10.0.0.1", inside + ", " + outside} {
			require.Equal(t, 403, do(from, method, path, "").status, "%s from %q", path, from)
		}
		require.Equal(t, 401, h.doFrom(outside, "", method, path, "").status, "strangers learn nothing of the list")
		require.Equal(t, 404, h.doFrom(outside, b.key, method, path, "").status)
	}
	require.Equal(t, 200, h.doFrom(outside, a.key, "GET", "/me/", "").status, "people are of no account")
	require.Equal(t, 403, h.doFrom(outside, bot, "GET", "/me/", "").status, "programs are")
	require.Equal(t, 200, h.doFrom(inside, bot, "GET", "/me/", "").status)
	require.Equal(t, 200, h.doFrom(outside, b.key, "GET", b.accountPath()+"/", "").status, "another account")

	socket := func(from string) error {
		header := map[string][]string{"X-Forwarded-For": {from}}
		c, _, err := websocket.Dial(t.Context(), h.root+a.workspacePath()+"/events/in", &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{"orch"}}) //nolint:bodyclose // Dial leaves none open.
		require.NoError(t, err)
		defer c.CloseNow()
		require.NoError(t, c.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, `{"type": "auth", "token": %q}`, a.key)))
		_, _, err = c.Read(t.Context())
		return err
	}
	require.NoError(t, socket(inside))
	require.Error(t, socket(outside))

	require.Eventually(t, func() bool {
		got := do(inside, "POST", a.accountPath()+"/events/filter", `{"filter": {"event": {"name": ["orch-cloud.request.access-denied.ip-allowlist"]}}}`)
		require.Equal(t, 200, got.status, got.body)
		page := h.decode(got)
		return page["total"] == float64(1)
	}, 10*time.Second, 10*time.Millisecond, "the account gets an event, once in a while")

	require.Equal(t, 422, do(inside, "PUT", list, `{"entries": [{"ip_network": "198.51.100.7"}]}`).status, "a list keeps its author")
	require.Equal(t, 204, do(inside, "PUT", list, `{"entries": [{"ip_network": "198.51.100.7"}, {"ip_network": "192.0.2.7", "last_seen": null}]}`).status)
	require.Equal(t, 200, do(outside, "GET", list, "").status, "a new entry holds at once")
	require.Equal(t, 204, do(outside, "PATCH", settings, `{"enforce_ip_allowlist": false}`).status)
	require.Equal(t, 200, do("203.0.113.9", "GET", list, "").status)
}

func repeated(n int, format string) string {
	out := ""
	for i := range n {
		out += fmt.Sprintf(format, i)
	}
	return out
}
