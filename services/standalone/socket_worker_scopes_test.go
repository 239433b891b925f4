package standalone_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
)

// TestTheChannelOfWorkersAsksForTheScopesOfREST: no role does over the channel what it may not do over REST.
func TestTheChannelOfWorkersAsksForTheScopesOfREST(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	worker := h.member("worker", access.WorkspaceWorker)
	require.Equal(t, 403, h.do(worker, "POST", "/work_pools/", `{"name": "by-rest", "type": "process"}`).status)

	open := func(pool, key, answer string) *client {
		c, status := h.dialSocket("/work_pools/"+pool+"/workers/connect", "")
		require.Equal(t, http.StatusSwitchingProtocols, status)
		k := &client{t, c}
		k.send(fmt.Sprintf(`{"type": "auth", "token": %q}`, key))
		if answer != "" {
			require.JSONEq(t, answer, k.receive())
			k.send(helloOfWorker)
		}
		return k
	}
	refused := func(k *client) {
		t.Helper()
		_, data, err := k.Read(t.Context())
		require.Error(t, err, "the server answers %.80s", data)
		require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err))
	}
	const success = `{"type": "auth_success"}`
	refused(open("by-socket", worker, success))
	require.Equal(t, 404, h.do(h.owner, "GET", "/work_pools/by-socket", "").status, "the pool exists")

	h.must(h.owner, 201, "POST", "/work_pools/", `{"name": "there", "type": "process"}`)
	require.Contains(t, open("there", worker, success).receive(), "worker.ready.v1", "a pool that exists")
	require.Contains(t, open("by-developer", h.member("developer", access.WorkspaceDeveloper), success).receive(), "worker.ready.v1")
	h.must(h.owner, 200, "GET", "/work_pools/by-developer", "")

	role := at(h.must(h.owner, 201, "POST", accountPath+"/workspace_roles/", `{"name": "heartbeats", "scopes": ["write_workers"]}`), "id")
	heartbeats := h.member("heartbeats", role)
	require.Equal(t, 403, h.do(heartbeats, "GET", "/work_pools/there", "").status)
	refused(open("there", heartbeats, ""))
}
