package standalone_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// listed is a page of events.
type listed struct {
	Events []struct{ ID, Event string }
	Total  int
	Next   string `json:"next_page"`
}

func (h *hosted) listed(tenant tenant, query string) (page listed) {
	h.t.Helper()
	got := h.do(tenant.key, "POST", tenant.workspacePath()+"/events/filter", query)
	require.Equal(h.t, http.StatusOK, got.status, got.body)
	require.NoError(h.t, json.Unmarshal([]byte(got.body), &page))
	return page
}

// socket opens a websocket of a tenant, with its key.
func (h *hosted) socket(tenant tenant, path string) *client {
	h.t.Helper()
	c, _, err := websocket.Dial(h.t.Context(), h.root+tenant.workspacePath()+path, &websocket.DialOptions{Subprotocols: []string{"orch"}}) //nolint:bodyclose // Dial leaves none open.
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = c.CloseNow() })
	k := &client{h.t.(*testing.T), c}
	k.send(fmt.Sprintf(`{"type":"auth","token":%q}`, tenant.key))
	require.JSONEq(h.t, `{"type":"auth_success"}`, k.receive())
	return k
}

// TestEventIDsAreTheWorkspaces: who takes events from one workspace to another finds them in both; what one workspace is
// sent again stays one event.
func TestEventIDsAreTheWorkspaces(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	tenants := []tenant{h.tenant("first"), h.tenant("second"), h.tenant("third")}
	const n = 12
	ids := make([]string, n)
	for i := range ids {
		ids[i] = uuid.NewString()
	}
	ids = append(ids, uuid.Must(uuid.NewV7()).String(), uuid.Max.String())
	now := time.Now().UTC().Truncate(time.Second)
	said := func(tenant tenant, i int) string {
		return fmt.Sprintf(`{"id":%q,"event":"copied.%d","occurred":%q,"resource":{"orch.resource.id":"thing.%d"},"payload":{"of":%q}}`,
			ids[i], i, now.Add(time.Duration(i/4)*-time.Second).Format(time.RFC3339), i, tenant.workspace) // Four of a moment.
	}
	watching := make([]*client, len(tenants))
	for i, tenant := range tenants {
		watching[i] = h.socket(tenant, "/events/out")
		watching[i].send(`{"type":"filter","filter":{"event":{"prefix":["copied."]}}}`)
	}
	for range 2 { // The second time it is all there already.
		for k, tenant := range tenants {
			in := h.socket(tenant, "/events/in")
			for i := range ids {
				if (i+k)%2 == 0 {
					in.send(said(tenant, i))
					continue
				}
				require.Equal(t, http.StatusNoContent, h.do(tenant.key, "POST", tenant.workspacePath()+"/events", "["+said(tenant, i)+"]").status)
			}
			require.NoError(t, in.barrier())
		}
	}
	for k, tenant := range tenants {
		all := `{"filter":{"event":{"prefix":["copied."]}},"limit":5}`
		require.Eventually(t, func() bool { return h.listed(tenant, all).Total == len(ids) }, waitTimeout, tick)
		page, seen := h.listed(tenant, all), map[string]bool{}
		for {
			require.Equal(t, len(ids), page.Total)
			for _, e := range page.Events {
				require.False(t, seen[e.ID], "shown again")
				seen[e.ID] = true
			}
			if page.Next == "" {
				break
			}
			next, err := url.Parse(page.Next)
			require.NoError(t, err)
			got := h.do(tenant.key, "GET", tenant.workspacePath()+"/events/filter/next?"+next.RawQuery, "")
			require.Equal(t, http.StatusOK, got.status, got.body)
			page = listed{}
			require.NoError(t, json.Unmarshal([]byte(got.body), &page))
		}
		require.Len(t, seen, len(ids))
		for i, id := range ids {
			require.True(t, seen[id])
			one := h.listed(tenant, fmt.Sprintf(`{"filter":{"id":{"id":[%q]}},"limit":5}`, id))
			require.Equal(t, 1, one.Total)
			require.Equal(t, fmt.Sprintf("copied.%d", i), one.Events[0].Event)
		}
		got := h.do(tenant.key, "POST", tenant.workspacePath()+"/events/filter", all)
		require.NotContains(t, got.body, tenants[(k+1)%len(tenants)].workspace)

		shown := map[string]bool{}
		for range ids {
			m := watching[k].event()
			require.False(t, shown[m.Event.ID], "shown live again")
			shown[m.Event.ID] = true
		}
		require.Len(t, shown, len(ids))
		late := h.socket(tenant, "/events/out") // The past, as the store has it.
		late.send(`{"type":"filter","filter":{"event":{"prefix":["copied."]}}}`)
		shown = map[string]bool{}
		for range ids {
			shown[late.event().Event.ID] = true
		}
		require.Len(t, shown, len(ids))
	}
}
