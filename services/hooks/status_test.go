package hooks_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks"
)

const allMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

func TestEveryMethodOfAStaticWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: `{"event": "{{ method }}", "resource": {"orch.resource.id": "r"}, "payload": {"body": {{ body|tojson }}}}`})
	for _, method := range []string{"GET", "DELETE", "POST", "PUT", "PATCH", "HEAD"} {
		got := w.do(method, slug, "text")
		require.Equal(t, http.StatusNoContent, got.status, method)
		require.Empty(t, got.body)
		e := w.next()
		require.Equal(t, method, e.GetEvent())
		want := "text"
		if method == "GET" || method == "HEAD" || method == "DELETE" {
			want = "" // These have no body, whatever is sent.
		}
		require.Equal(t, map[string]any{"body": want}, payload(t, e), method)
	}
	require.Equal(t, http.StatusNoContent, w.send("POST", "/hooks/"+slug+"/", nil).status, "a slash at the end")
	require.Equal(t, "POST", w.next().GetEvent())
}

func TestUnknownAndDisabledLookTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.disable(slug)
	disabled := w.do("POST", slug, "{}")
	require.Equal(t, http.StatusNotFound, disabled.status)
	require.Empty(t, disabled.body)
	disabled.header.Del("Date")
	for _, path := range []string{
		"/hooks/unknown", "/hooks/" + slug + "/more", "/hooks/", "/hooks", "/", "/hooks//" + slug, "/hooks/" + strings.Repeat("x", 3000),
		"/hooks/%00", "/hooks/" + slug + "%2F", "/hooks/../hooks/" + slug, "/HOOKS/" + slug,
	} {
		got := w.send("POST", path, strings.NewReader("{}"))
		got.header.Del("Date")
		require.Equal(t, disabled, got, path)
	}
	require.Equal(t, http.StatusNotFound, w.do("OPTIONS", slug, "", "WebHook-Request-Origin", "x").status, "no handshake either")
	grid := w.do("POST", slug, validation, "Aeg-Event-Type", "SubscriptionValidation")
	require.Equal(t, http.StatusNotFound, grid.status)
	w.none()
}

func TestOtherMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: static})
	for _, method := range []string{"OPTIONS", "TRACE", "PROPFIND", "get"} {
		for _, path := range []string{slug, "unknown"} {
			got := w.do(method, path, "")
			require.Equal(t, http.StatusMethodNotAllowed, got.status, method)
			require.Equal(t, allMethods, got.header.Get("Allow"))
			require.Empty(t, got.body)
		}
	}
	w.none()
}

func TestTheLimitOfBodies(t *testing.T) {
	t.Parallel()
	const limit = 1000
	w := newWorld(t, func(c *hooks.Config, _ *hooks.Deps) { c.MaxBody = limit })
	w.put(slug, &orchv1.WebhookDefinition{Template: `{"event": "e", "resource": {"orch.resource.id": "r"}, "payload": {"n": {{ body|length }}}}`})
	text := func(n int) []byte { return bytes.Repeat([]byte("x"), n) }
	for name, body := range map[string]func(n int) io.Reader{
		"known length": func(n int) io.Reader { return bytes.NewReader(text(n)) },
		"chunked":      func(n int) io.Reader { return io.MultiReader(bytes.NewReader(text(n))) },
	} {
		require.Equal(t, http.StatusNoContent, w.send("POST", "/hooks/"+slug, body(limit)).status, name)
		require.Equal(t, map[string]any{"n": float64(limit)}, payload(t, w.next()), name)

		got := w.send("POST", "/hooks/"+slug, body(limit+1))
		require.Equal(t, http.StatusRequestEntityTooLarge, got.status, name)
		require.Empty(t, got.body)
		e := w.next()
		require.Equal(t, "orch-cloud.webhook.failed", e.GetEvent())
		p := payload(t, e)
		require.Equal(t, "the body is too large: it exceeds ORCH_HOOKS_MAX_BODY, 1000 bytes", p["error"])
		require.Equal(t, string(text(limit)), p["body"])
		require.Equal(t, true, p["body_truncated"])
		require.Nil(t, p["rendered"])
	}
}

func TestServiceAccountsAreNeverOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(slug, &orchv1.WebhookDefinition{Template: static, ServiceAccountId: proto.String(account)})
	for range 3 {
		got := w.do("POST", slug, "secret body", "Authorization", "Bearer secret-key-of-somebody")
		require.Equal(t, http.StatusUnauthorized, got.status)
		require.Equal(t, "Bearer", got.header.Get("WWW-Authenticate"))
		require.Empty(t, got.body)
	}
	e := w.next()
	require.Equal(t, "orch-cloud.webhook.failed", e.GetEvent())
	require.Nil(t, payload(t, e)["body"], "strangers cannot fill the store")
	require.NotContains(t, string(e.GetPayload()), "secret")

	got := w.do("POST", slug, validation, "Aeg-Event-Type", "SubscriptionValidation")
	require.Equal(t, http.StatusOK, got.status, "a handshake needs no credential")
	got = w.do("POST", slug, "{}", "Aeg-Event-Type", "SubscriptionValidation")
	require.Equal(t, http.StatusUnauthorized, got.status, "a request that only claims to be one does")
	w.none()
}

func TestStrictQuiet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *hooks.Config, _ *hooks.Deps) { c.UniformErrors, c.MaxBody = true, 10 })
	w.put(slug, &orchv1.WebhookDefinition{Template: static, ServiceAccountId: proto.String(account)})
	w.put("open", &orchv1.WebhookDefinition{Template: static})
	for name, got := range map[string]answer{
		"401": w.do("POST", slug, ""),
		"404": w.do("POST", "unknown", ""),
		"405": w.do("TRACE", "open", ""),
	} {
		require.Equal(t, http.StatusBadRequest, got.status, name)
		require.Empty(t, got.header.Get("Allow"), name)
		require.Empty(t, got.header.Get("WWW-Authenticate"), name)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, w.do("POST", "open", "more than ten bytes").status)
	require.Equal(t, http.StatusNoContent, w.do("POST", "open", "").status)
}
