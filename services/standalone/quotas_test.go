package standalone_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
)

// creations are the requests that make one document of each kind that a quota counts, with names that are not taken.
func (h *hosted) creations(key, ws string) map[string]func() reply {
	h.t.Helper()
	flow := at(h.must(key, 201, "POST", ws+"/flows/", `{"name": "f"}`), "id")
	kind := at(h.must(key, 201, "POST", ws+"/block_types/", `{"name": "Vault", "slug": "vault"}`), "id")
	schema := at(h.must(key, 201, "POST", ws+"/block_schemas/", fmt.Sprintf(`{"block_type_id": %q, "fields": {"title": "Vault", "type": "object"}}`, kind)), "id")
	create := func(path, body string, values ...any) func() reply {
		return func() reply {
			return h.do(key, "POST", ws+path, fmt.Sprintf(body, append([]any{"n-" + uuid.NewString()}, values...)...))
		}
	}
	return map[string]func() reply{
		"webhooks":    create("/webhooks/", `{"name": %q, "template": "{}"}`),
		"automations": create("/automations/", `{"name": %q, "trigger": {"type": "event", "posture": "Reactive", "expect": ["x"], "threshold": 1, "within": 0}, "actions": [{"type": "do-nothing"}]}`),
		"deployments": create("/deployments/", `{"name": %q, "flow_id": %q}`, flow),
		"blocks":      create("/block_documents/", `{"name": %q, "block_type_id": %q, "block_schema_id": %q, "data": {}}`, kind, schema),
	}
}

// TestCountQuotasHold: an account gets as many documents as its quota, however many requests come at once and in whichever workspace,
// and a deleted one makes room.
func TestCountQuotasHold(t *testing.T) {
	t.Parallel()
	for _, vocabulary := range []string{"orch", "prefect"} {
		t.Run(vocabulary, func(t *testing.T) {
			t.Parallel()
			h := startHosted(t, vocabulary, "ORCH_QUOTA_WEBHOOKS", "3", "ORCH_QUOTA_AUTOMATIONS", "3", "ORCH_QUOTA_DEPLOYMENTS", "3", "ORCH_QUOTA_BLOCKS", "3")
			second := accountPath + "/workspaces/" + at(h.must(h.owner, 201, "POST", accountPath+"/workspaces/", `{"name": "second"}`), "id")
			first, other := h.creations(h.owner, workspacePath), h.creations(h.owner, second)
			for name, create := range first {
				require.Less(t, other[name]().status, 300, "%s: another workspace of the account", name)
				var made, refused atomic.Int32
				var all sync.WaitGroup
				for range 12 {
					all.Go(func() {
						switch got := create(); got.status {
						case 200, 201:
							made.Add(1)
						case 403:
							refused.Add(1)
							if want := fmt.Sprintf("quota of %s is 3", name); !strings.Contains(got.body, want) {
								t.Errorf("%s: %s does not contain %q", name, got.body, want)
							}
						default:
							t.Errorf("%s: %d %s", name, got.status, got.body)
						}
					})
				}
				all.Wait()
				require.Equal(t, int32(2), made.Load(), name)
				require.Equal(t, int32(10), refused.Load(), name)
				require.Equal(t, 403, other[name]().status, name)
			}
			require.Contains(t, h.do(h.owner, "GET", accountPath, "").body, `"automations_limit":3`)

			path := map[string]string{"webhooks": "/webhooks/", "automations": "/automations/", "deployments": "/deployments/", "blocks": "/block_documents/"}
			for name, create := range first {
				listed := h.do(h.owner, "POST", workspacePath+path[name]+"filter", `{}`)
				require.Equal(t, 200, listed.status, listed.body)
				id := uuids.FindString(listed.body[strings.Index(listed.body, `"id":"`):])
				require.Less(t, h.do(h.owner, "DELETE", workspacePath+path[name]+id, "").status, 300)
				require.Less(t, create().status, 300, "%s: a deleted one made room", name)
			}
		})
	}
}

// TestTheQuotaOfKeysHolds: an account gets as many API keys as its quota, whoever has them. A rotation passes, a deleted key makes room,
// and the keys of a member from another account do not count.
func TestTheQuotaOfKeysHolds(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	a := h.tenant("a") // The owner of the server is a member too, and has a key.
	h.must(h.owner, 204, "PATCH", a.accountPath()+"/quotas", `{"api_keys": 3}`)
	bot := h.must(a.key, 201, "POST", a.accountPath()+"/bots/", `{"name": "ci"}`)
	own := "/users/" + a.user + "/api_keys"
	key := h.must(a.key, 201, "POST", own, `{"name": "second"}`)
	require.Contains(t, h.do(a.key, "GET", a.accountPath()+"/quotas", "").body, `{"name":"api_keys","limit":3,"used":3}`)
	for name, create := range map[string]func() reply{
		"key":             func() reply { return h.do(a.key, "POST", own, `{"name": "third"}`) },
		"service account": func() reply { return h.do(a.key, "POST", a.accountPath()+"/bots/", `{"name": "cd"}`) },
		"member": func() reply {
			return h.do(a.key, "POST", a.accountPath()+"/account_memberships/", `{"email": "b@example.com"}`)
		},
	} {
		got := create()
		require.Equal(t, 403, got.status, "%s: %s", name, got.body)
		require.Contains(t, got.body, "quota of api_keys is 3", name)
	}
	require.Less(t, h.do(a.key, "POST", a.accountPath()+"/bots/"+at(bot, "id")+"/rotate_api_key", `{}`).status, 300, "a rotation")
	require.Equal(t, 201, h.do(h.owner, "POST", "/users/00000000-0000-8000-8000-00000000000b/api_keys", `{"name": "another"}`).status, "no account created the first user")
	h.must(a.key, 204, "DELETE", own+"/"+at(key, "id"), "")
	h.must(a.key, 201, "POST", own, `{"name": "third"}`)
}

// TestAnUpdatedDeploymentNeedsNoRoom: a creation that updates an existing deployment passes at the quota.
func TestAnUpdatedDeploymentNeedsNoRoom(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch", "ORCH_QUOTA_DEPLOYMENTS", "1")
	flow := at(h.must(h.owner, 201, "POST", "/flows/", `{"name": "f"}`), "id")
	body := fmt.Sprintf(`{"name": "d", "flow_id": %q}`, flow)
	h.must(h.owner, 201, "POST", "/deployments/", body)
	h.must(h.owner, 200, "POST", "/deployments/", body)
	h.must(h.owner, 403, "POST", "/deployments/", fmt.Sprintf(`{"name": "e", "flow_id": %q}`, flow))
	h.must(h.owner, 403, "PUT", "/deployments/"+uuid.NewString(), fmt.Sprintf(`{"name": "e", "flow_id": %q}`, flow))
}

// TestOperatorsSetQuotas: the operator sets quotas of accounts that they are no member of, the owner of an account sees them, and
// nobody else does either.
func TestOperatorsSetQuotas(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch", "ORCH_QUOTA_WEBHOOKS", "1")
	tenant, stranger := h.tenant("tenant"), h.tenant("stranger")
	create := h.creations(tenant.key, tenant.workspacePath())["webhooks"]
	require.Equal(t, 201, create().status)
	require.Equal(t, 403, create().status, "the default of the server")
	quotas := tenant.accountPath() + "/quotas"
	for name, key := range map[string]string{"the owner of the account": tenant.key, "another account": stranger.key, "a member": h.member("m", access.WorkspaceOwner)} {
		require.Equal(t, 403, h.do(key, "PATCH", quotas, `{"webhooks": 100}`).status, name)
	}
	require.Equal(t, 404, h.do(stranger.key, "GET", quotas, "").status)
	h.must(h.owner, 204, "PATCH", quotas, `{"webhooks": 2, "blocks": 7}`)
	require.Equal(t, 201, create().status)
	require.Equal(t, 403, create().status)
	require.JSONEq(t, `[{"name": "webhooks", "limit": 2, "used": 2}, {"name": "automations", "limit": null, "used": 0},
		{"name": "deployments", "limit": null, "used": 0}, {"name": "blocks", "limit": 7, "used": 0}, {"name": "api_keys", "limit": null, "used": 1},
		{"name": "events_per_second", "limit": null, "used": null}, {"name": "stored_bytes", "limit": null, "used": null}]`,
		h.do(tenant.key, "GET", quotas, "").body)
	h.must(h.owner, 204, "PATCH", quotas, `{"webhooks": 0}`)
	require.Equal(t, 201, create().status, "0 lifts the default")
	h.must(h.owner, 204, "PATCH", quotas, `{"webhooks": null}`)
	require.Equal(t, 403, create().status, "null returns to the default")
	for _, body := range []string{`{"webhooks": -1}`, `{"hooks": 1}`, `{"events_per_second": 100001}`, `{"webhooks": "1"}`, `[]`} {
		require.Equal(t, 422, h.do(h.owner, "PATCH", quotas, body).status, body)
	}
	require.Equal(t, 404, h.do(h.owner, "PATCH", "/accounts/"+uuid.NewString()+"/quotas", `{}`).status)
	require.Equal(t, 404, h.do(h.owner, "PATCH", "/accounts/nobody/quotas", `{}`).status)
}

// TestEventsBeyondTheQuotaAreRefused: with a quota of one event a second, a burst over REST and of webhooks gets 429, and a websocket
// waits but loses nothing. Other accounts are not affected.
func TestEventsBeyondTheQuotaAreRefused(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	tenant := h.tenant("tenant")
	hook := h.must(tenant.key, 201, "POST", tenant.workspacePath()+"/webhooks/", `{"name": "w", "template": "{\"event\": \"e\", \"resource\": {\"orch.resource.id\": \"r\"}}"}`)
	h.must(h.owner, 204, "PATCH", tenant.accountPath()+"/quotas", `{"events_per_second": 1}`)
	burst := func(send func() reply) (refused reply) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				if got := send(); got.status == http.StatusTooManyRequests {
					mu.Lock()
					defer mu.Unlock()
					refused = got
				}
			})
		}
		all.Wait()
		return refused
	}
	// The quota arrives with the directory, so the first bursts may pass. A burst that takes longer than its events in seconds passes too.
	require.Eventually(t, func() bool {
		got := burst(func() reply {
			return h.do(tenant.key, "POST", tenant.workspacePath()+"/events", "["+event(uuid.NewString(), "rest")+"]")
		})
		return got.status == 429 && got.header.Get("Retry-After") == "1" && strings.Contains(got.body, "quota of events_per_second is 1")
	}, waitTimeout, tick)
	require.Equal(t, 422, h.do(tenant.key, "POST", tenant.workspacePath()+"/events",
		"["+event(uuid.NewString(), "rest")+","+event(uuid.NewString(), "rest")+"]").status, "it would never fit")
	require.Eventually(t, func() bool {
		got := burst(func() reply { return h.send("POST", at(hook, "url"), "{}") })
		return got.status == 429 && got.header.Get("Retry-After") == "1" && got.body == ""
	}, waitTimeout, tick)
	require.Zero(t, burst(func() reply {
		return h.do(h.owner, "POST", "/events", "["+event(uuid.NewString(), "other")+"]")
	}).status)
}

// TestAWebsocketBeyondTheQuotaWaits: events of a websocket beyond the quota arrive later, and none is lost.
func TestAWebsocketBeyondTheQuotaWaits(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "ORCH_QUOTA_EVENTS_PER_SECOND=2")
	k := s.open("/events/in")
	for range 5 {
		k.send(event(uuid.NewString(), "slow"))
	}
	require.NoError(t, k.barrier())
	require.Eventually(t, func() bool { return s.count("slow") == 5 }, waitTimeout, tick)
}
