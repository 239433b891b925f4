package hooks_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
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

func TestChangesOfTheCatalogueWorkAtOnce(t *testing.T) {
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

	// An older definition never replaces a newer one.
	w.put("new", &orchv1.WebhookDefinition{Template: static, Revision: 1})
	w.put("mark", &orchv1.WebhookDefinition{Template: static})
	require.Eventually(t, func() bool { return status("mark") == http.StatusNoContent }, waitTime, tick)
	require.Equal(t, http.StatusNotFound, status("new"))
}
