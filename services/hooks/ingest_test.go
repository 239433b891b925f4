package hooks_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// A sender that takes the address for a base appends to it.
func TestWhatFollowsTheSlugIsTheTemplates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: `{"event": "e", "resource": {"orch.resource.id": "r"}, "payload": {"path": {{ path|tojson }}, "query": {{ query|tojson }}}}`})
	for path, want := range map[string]string{
		"": "", "/": "/", "/start": "/start", "/a%20b/../%C3%A9//": "/a b/../é//",
	} {
		require.Equal(t, http.StatusNoContent, w.send("POST", "/hooks/"+slug+path+"?id=1&id=2", nil).status, path)
		require.Equal(t, map[string]any{"path": want, "query": map[string]any{"id": "2"}}, payload(t, w.next()), path)
	}
}

func TestPostBecomesAnEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: `{"event": "{{ body.action }}", "resource": {"orch.resource.id": "{{ headers['x-id'] }}"}, "payload": {{ body|tojson }}}`})
	got := w.do("POST", slug, `{"action": "opened", "n": 12345678901234567890}`, "Content-Type", "application/json", "X-Id", "repo/1")
	require.Equal(t, http.StatusNoContent, got.status)
	require.Empty(t, got.body)
	e := w.next()
	require.Equal(t, "opened", e.GetEvent())
	require.Equal(t, map[string]string{"orch.resource.id": "repo/1"}, e.GetResource().GetLabels())
	require.JSONEq(t, `{"action": "opened", "n": 12345678901234567890}`, string(e.GetPayload()))
	require.Contains(t, string(e.GetPayload()), "12345678901234567890")
	require.Len(t, e.GetRelated(), 1)
	require.Equal(t, map[string]string{
		"orch.resource.id": "orch-cloud.webhook." + hookID, "orch.resource.name": "a hook", "orch.resource.role": "webhook",
	}, e.GetRelated()[0].GetLabels())
	require.WithinDuration(t, time.Now(), e.GetReceived().AsTime(), waitTime)
}
