package hooks_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestFailureEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		template string
		rendered any
		reason   string
	}{
		"syntax":         {"{% broken", nil, "line 1, column 4: syntax error: "},
		"rendering":      {"line\n{{ missing|tojson }}", nil, "line 2, column "},
		"no JSON":        {"{\"a\": 1,\n {{ body.x }}}", "{\"a\": 1,\n 1}", "it is not JSON: line 2, column 2: a key in double quotes is expected"},
		"no object":      {"[1]", "[1]", "event 1 of 1: rendered text is not an event: it must be a JSON object, not a number"},
		"empty":          {"", "", "it is empty"},
		"no event":       {`{"resource": {}}`, `{"resource": {}}`, "event is missing"},
		"errors of both": {`{"event": "", "resource": {}}`, `{"event": "", "resource": {}}`, "event: String should have at least 1 character; resource: "},
	} {
		t.Run(name, func(t *testing.T) {
			w.put(slug, &orchv1.WebhookDefinition{Template: c.template})
			w.settle(c.template)
			got := w.do("POST", slug, `{"x": 1}`, "X-Some", "thing", "Authorization", "Bearer topsecret", "Cookie", "session=topsecret")
			require.Equal(t, http.StatusBadRequest, got.status, name)
			require.Empty(t, got.body, name)
			require.Empty(t, got.header.Get("Content-Type"), name)
			e := w.next()
			require.Equal(t, "orch-cloud.webhook.failed", e.GetEvent(), name)
			require.Equal(t, map[string]string{
				"orch.resource.id": "orch-cloud.webhook." + hookID, "orch.resource.name": "a hook",
			}, e.GetResource().GetLabels(), name)
			p := payload(t, e)
			require.ElementsMatch(t, []string{"method", "headers", "body", "rendered", "error"}, keys(p), name)
			require.Equal(t, "POST", p["method"])
			require.Equal(t, map[string]any{"x": 1.0}, p["body"])
			require.Equal(t, c.rendered, p["rendered"], name)
			require.Contains(t, p["error"], c.reason, name)
			headers := p["headers"].(map[string]any)
			require.Equal(t, "thing", headers["x-some"])
			require.Equal(t, "***", headers["cookie"])
			require.NotContains(t, headers, "authorization")
			require.NotContains(t, string(e.GetPayload()), "topsecret")
		})
	}
}

func keys(m map[string]any) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// settle waits until the definition cache has every definition that was put before. The watch delivers in order, so the cache has
// them when it has a later one. A slug that the cache knows to be absent is not read from the bucket, which would prove nothing.
func (w *world) settle(template string) {
	w.t.Helper()
	later := "settled-" + uuid.NewString()
	require.Equal(w.t, http.StatusNotFound, w.do("GET", later, "").status)
	w.putAs(later, &orchv1.WebhookDefinition{Id: hookID, Account: account, Workspace: account, Template: static, Enabled: true})
	require.Eventually(w.t, func() bool { return w.do("GET", later, "").status == http.StatusNoContent }, waitTime, tick, template)
}

func TestALargeFailureFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: `{{ body }}`})
	got := w.do("POST", slug, strings.Repeat("\x01é", 1<<20))
	require.Equal(t, http.StatusBadRequest, got.status)
	p := payload(t, w.next())
	require.Equal(t, true, p["body_truncated"])
	require.Equal(t, true, p["rendered_truncated"])
	require.LessOrEqual(t, len(p["body"].(string)), 64<<10+3)
	require.LessOrEqual(t, len(p["rendered"].(string)), 64<<10)
}

func TestAnEventThatIsTooLarge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: `{"event": "e", "resource": {"orch.resource.id": "r"}, "payload": {{ body|tojson }}}`})
	body := func(n int) string { return `{"x": "` + strings.Repeat("x", n) + `"}` }
	require.Equal(t, http.StatusNoContent, w.do("POST", slug, body(1_400_000)).status)
	require.Equal(t, "e", w.next().GetEvent())
	for _, n := range []int{1_499_700, 1_600_000} { // Too large with its envelope, too large alone.
		require.Equal(t, http.StatusBadRequest, w.do("POST", slug, body(n)).status)
		e := w.next()
		require.Equal(t, "orch-cloud.webhook.failed", e.GetEvent())
		require.Contains(t, payload(t, e)["error"], "1500000 bytes")
	}
}

func TestTheSlugIsNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := []string{
		"Referer", w.server.URL + "/hooks/" + slug, "X-Original-Uri", "/hooks/" + slug, "Cookie", "topsecret-1", "X-Gitlab-Token", "topsecret-2",
		"X-Api-Key", "topsecret-3", "Proxy-Authorization", "topsecret-4", "Authorization", "topsecret-5",
	}
	w.put(slug, &orchv1.WebhookDefinition{Template: static})
	require.Equal(t, http.StatusNoContent, w.do("POST", slug, "{}", secret...).status)
	said := string(w.next().GetPayload())
	w.put(slug, &orchv1.WebhookDefinition{Template: "{{ headers|tojson }} {{ path }}"})
	require.Eventually(t, func() bool { // Until the cache has the template.
		status := w.do("POST", slug, "{}", secret...).status
		said += string(w.next().GetPayload())
		return status == http.StatusBadRequest
	}, waitTime, tick)
	w.disable(slug)
	require.Eventually(t, func() bool { return w.do("POST", slug, "{}", secret...).status == http.StatusNotFound }, waitTime, tick)
	w.do("TRACE", slug, "")
	w.send("POST", "/hooks/"+slug+"/more", nil)
	w.nats.Stop(t)
	require.Equal(t, http.StatusServiceUnavailable, w.do("POST", slug+"x", "{}", secret...).status)

	w.nats.Start(t)

	families, err := w.registry.Gather()
	require.NoError(t, err)
	require.NotEmpty(t, families)
	measured, err := json.Marshal(families)
	require.NoError(t, err)
	logged := w.logs.String()
	require.Contains(t, logged, hookID)
	for _, text := range []string{said, string(measured), logged} {
		require.NotContains(t, text, slug)
		require.NotContains(t, text, "topsecret")
	}
	require.Contains(t, string(measured), "orch_hooks_requests_total")
	require.Contains(t, string(measured), "orch_hooks_ack_duration_seconds")
	require.Contains(t, string(measured), "disabled")
}
