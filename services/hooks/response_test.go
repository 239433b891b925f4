package hooks_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// A response replaces 204: for a stored event, for a duplicate, and for a request that the filter drops.
func TestSendersReceiveTheResponse(t *testing.T) {
	t.Parallel()
	ring, keyed := withKeys(t)
	w := newWorld(t, keyed)
	log := w.journal()
	hook := signed(t, ring, static)
	hook.Filter = proto.String("body.command")
	hook.Response = &orchv1.WebhookResponse{
		Status: http.StatusCreated, Headers: map[string]string{"content-type": "application/json", "X-Hook-Secret": "{{ headers['x-hook-secret'] }}"},
		Body: `{"response_type": "ephemeral", "text": {{ body.command | default(body.challenge) | tojson }}}`,
	}
	w.put(slug, hook)
	w.settle(static)
	const command, challenge = `{"command": "/deploy"}`, `{"challenge": "c-1"}`
	send := func(body string, header ...string) answer {
		return w.do("POST", slug, body, append(header, "X-Hub-Signature-256", signature(signing, body))...)
	}
	got := send(command, "X-Hook-Secret", "echo-me")
	require.Equal(t, http.StatusCreated, got.status)
	require.JSONEq(t, `{"response_type": "ephemeral", "text": "/deploy"}`, got.body)
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.Equal(t, "echo-me", got.header.Get("X-Hook-Secret"))
	require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
	require.Contains(t, got.header.Get("Content-Security-Policy"), "sandbox")
	require.Equal(t, "e", w.next().GetEvent(), "the event is stored")
	d := logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetEvent() == "e" && string(d.GetRawBody()) == command })
	require.EqualValues(t, http.StatusCreated, d.GetStatus())
	require.JSONEq(t, `{"response_type": "ephemeral", "text": "/deploy"}`, d.GetResponse().GetBody())

	got = send(command)
	require.Equal(t, http.StatusCreated, got.status, "a duplicate: the sender may not have received the first response")
	require.JSONEq(t, `{"response_type": "ephemeral", "text": "/deploy"}`, got.body)
	require.NotContains(t, got.header, "X-Hook-Secret", "an empty header is left out")
	got = send(challenge)
	require.Equal(t, http.StatusCreated, got.status, "the filter drops a challenge, which is answered")
	require.JSONEq(t, `{"response_type": "ephemeral", "text": "c-1"}`, got.body)
	w.none()
	d = logged(t, log, func(d *orchv1.WebhookDelivery) bool {
		return d.GetReason() == "filtered" && string(d.GetRawBody()) == challenge
	})
	require.EqualValues(t, http.StatusCreated, d.GetStatus())

	require.Equal(t, http.StatusUnauthorized, w.do("POST", slug, command).status, "an unverified sender receives no response")
	require.Empty(t, w.do("POST", slug, command).body)
}

func TestResponsesThatFailAre204(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := w.journal()
	for name, c := range map[string]struct {
		response *orchv1.WebhookResponse
		line     int64
		message  string
	}{
		"body":         {&orchv1.WebhookResponse{Status: 200, Body: "a\n{{ 1 / 0 }}"}, 2, "ZeroDivisionError"},
		"header":       {&orchv1.WebhookResponse{Status: 200, Headers: map[string]string{"X-A": "{{ body }}"}, Body: "never"}, 0, "line break"},
		"size":         {&orchv1.WebhookResponse{Status: 200, Body: "{{ 'x' * 20000 }}"}, 0, "20000 bytes"},
		"budget":       {&orchv1.WebhookResponse{Status: 200, Body: "{{ 'x' * 1000000000 }}"}, 1, "budget"},
		"syntax":       {&orchv1.WebhookResponse{Status: 200, Body: "{{"}, 1, "syntax error"},
		"line in name": {&orchv1.WebhookResponse{Status: 200, Headers: map[string]string{"X-A": "{{ '\\n' }}b\n\nc"}}, 0, "line break"},
	} {
		t.Run(name, func(t *testing.T) {
			w.put(slug, &orchv1.WebhookDefinition{Template: `{"event": "` + name + `", "resource": {"orch.resource.id": "r"}}`, Response: c.response})
			var got answer
			require.Eventually(t, func() bool {
				got = w.do("POST", slug, "a\r\nSet-Cookie: b", "X-Case", name, "Content-Type", "text/plain")
				return w.next().GetEvent() == name
			}, waitTime, tick, "the event is stored")
			require.Equal(t, http.StatusNoContent, got.status)
			require.Empty(t, got.body)
			require.Empty(t, got.header.Get("X-A"))
			require.Empty(t, got.header.Get("Set-Cookie"))
			d := logged(t, log, func(d *orchv1.WebhookDelivery) bool { return d.GetEvent() == name })
			require.EqualValues(t, http.StatusNoContent, d.GetStatus())
			require.Nil(t, d.Error, "the request is no failure")
			require.Contains(t, d.GetResponse().GetError().GetMessage(), c.message)
			require.Equal(t, c.line, d.GetResponse().GetError().GetLine())
		})
	}
}

// A body without a type is no document of the origin that API and dashboard share.
func TestResponsesAreTextByDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: static, Response: &orchv1.WebhookResponse{Status: 200, Body: "<script>{{ query.challenge }}</script>"}})
	got := w.send("GET", "/hooks/"+slug+"?challenge=c", nil)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "<script>c</script>", got.body)
	require.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
	got = w.send("HEAD", "/hooks/"+slug, nil)
	require.Equal(t, http.StatusOK, got.status)
	require.Empty(t, got.body)
}

// A request that fails, or whose event is not stored, gets the status that its sender needs for a retry.
func TestFailuresHaveNoResponse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: "{{ 1 / 0 }}", Response: &orchv1.WebhookResponse{Status: 200, Body: "fine"}})
	got := w.do("POST", slug, "{}")
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Empty(t, got.body)
}
