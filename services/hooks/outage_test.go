package hooks_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks"
)

func TestNeverSuccessWhileTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: static})
	w.put("broken", &orchv1.WebhookDefinition{Template: "{% broken"})
	require.Equal(t, http.StatusNoContent, w.do("POST", slug, "").status)
	require.Equal(t, http.StatusBadRequest, w.do("POST", "broken", "").status)
	w.next()
	w.next()

	w.nats.Stop(t)
	for _, s := range []string{slug, "broken", "unknown"} {
		got := w.do("POST", s, "")
		require.Equal(t, http.StatusServiceUnavailable, got.status, s)
		require.NotEmpty(t, got.header.Get("Retry-After"), s)
		require.Empty(t, got.body)
	}
	require.Equal(t, http.StatusMethodNotAllowed, w.do("TRACE", slug, "").status)
	require.Error(t, w.hooks.Ready())

	w.nats.Start(t)
	require.Eventually(t, func() bool { return w.do("POST", slug, "").status == http.StatusNoContent }, waitTime, tick)
	require.Eventually(t, func() bool { return w.hooks.Ready() == nil }, waitTime, tick)
	require.Equal(t, "e", w.next().GetEvent())
}

func TestDefinitionChangesApplyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	status := func(s string) int { return w.do("POST", s, "").status }
	require.Equal(t, http.StatusNotFound, status("new"), "it is remembered that there is none")
	w.put("new", &orchv1.WebhookDefinition{Template: static, Revision: 1})
	require.Eventually(t, func() bool { return status("new") == http.StatusNoContent }, waitTime, tick)
	w.put("never-asked", &orchv1.WebhookDefinition{Template: static, Revision: 1})
	require.Equal(t, http.StatusNoContent, status("never-asked"), "the very next request finds it")

	// A new address: the old one is gone.
	w.putAs("new", &orchv1.WebhookDefinition{Id: hookID, Account: account, Workspace: workspace, Revision: 2})
	w.put("newer", &orchv1.WebhookDefinition{Template: static, Revision: 2})
	require.Equal(t, http.StatusNoContent, status("newer"))
	require.Eventually(t, func() bool { return status("new") == http.StatusNotFound }, waitTime, tick)

	// The bucket decides, also by a smaller revision: an older copy of the store was restored.
	w.put("new", &orchv1.WebhookDefinition{Template: static, Revision: 1})
	require.Eventually(t, func() bool { return status("new") == http.StatusNoContent }, waitTime, tick)
}

// TestAReplicaStartsWithoutOrchestration starts a replica that nobody but the broker helps: what the bucket holds is enough.
// Then every replica follows each kind of change within a second.
func TestAReplicaStartsWithoutOrchestration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: static, Revision: 1})
	second, err := hooks.New(hooks.Config{}, hooks.Deps{Broker: w.conn})
	require.NoError(t, err)
	w.start(second.Run)
	require.Eventually(t, func() bool { return second.Ready() == nil }, waitTime, tick)
	other := httptest.NewServer(second.Handler())
	t.Cleanup(other.Close)
	both := func(s string, want int) bool {
		for _, server := range []*httptest.Server{w.server, other} {
			r, err := http.Post(server.URL+"/hooks/"+s, "text/plain", nil)
			require.NoError(t, err)
			require.NoError(t, r.Body.Close())
			if r.StatusCode != want {
				return false
			}
		}
		return true
	}
	require.True(t, both(slug, http.StatusNoContent), "the replica serves what it finds")
	for name, c := range map[string]struct {
		change func()
		slug   string
		want   int
	}{
		"template": {func() { w.put("a", &orchv1.WebhookDefinition{Template: "{% broken", Revision: 2}) }, "a", http.StatusBadRequest},
		"rotated":  {func() { w.put("b", &orchv1.WebhookDefinition{Template: static, Revision: 2}) }, "b", http.StatusNoContent},
		"toggled":  {func() { w.disable("c") }, "c", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w.put(c.slug, &orchv1.WebhookDefinition{Template: static, Revision: 1})
			require.Eventually(t, func() bool { return both(c.slug, http.StatusNoContent) }, waitTime, tick)
			changed := time.Now()
			c.change()
			require.Eventually(t, func() bool { return both(c.slug, c.want) }, time.Second, tick, name)
			t.Logf("%s: on both replicas after %s", name, time.Since(changed))
		})
	}
}
