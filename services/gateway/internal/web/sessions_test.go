package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// TestSessionsOfTheReader signs in twice as one person and once as another. Each sees and ends only their own sessions.
func TestSessionsOfTheReader(t *testing.T) {
	t.Parallel()
	site := withLogin(t)
	readerOf(site).owner = func(digest string) string { return strings.TrimSuffix(digest, " of another key") }
	laptop, phone := &browserOf{site, map[string]string{}}, &browserOf{site, map[string]string{}}
	laptop.signIn(t)
	readerOf(site).signIn = func(string) (string, error) { return "digest of another key", nil }
	phone.signIn(t)
	other, err := site.opts.Sessions.Open(t.Context(), session.Session{Digest: "somebody", Agent: "of somebody"})
	require.NoError(t, err)
	site.opts.API = siteWith(t, &stub{answers: accountAnswers()}, nil).opts.API

	body := laptop.do(t, "GET", "/sessions", nil).Body.String()
	require.Contains(t, body, "this browser")
	require.NotContains(t, body, "of somebody")
	require.Equal(t, 1, strings.Count(body, `value="session-end"`), "the other browser, and not this one")
	end := func(id string) int {
		return laptop.do(t, "POST", "/sessions", url.Values{"action": {"session-end"}, "id": {id}, session.FormField: {laptop.token(t, "/sessions")}}).Code
	}
	found, ok := site.opts.Sessions.Find(t.Context(), other)
	require.True(t, ok)
	require.Equal(t, 404, end(found.ID), "a session of somebody else")
	found, ok = site.opts.Sessions.Find(t.Context(), phone.cookies["orch"])
	require.True(t, ok)
	require.Equal(t, 303, end(found.ID))
	require.Equal(t, 303, phone.do(t, "GET", "/runs", nil).Code, "to the sign-in")
	require.Equal(t, 200, laptop.do(t, "GET", "/sessions", nil).Code)
}
