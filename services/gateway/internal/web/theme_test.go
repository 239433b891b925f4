package web

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

func TestTheme(t *testing.T) {
	t.Parallel()
	b := &browserOf{site: siteWith(t, &stub{answers: lists()}, nil), cookies: map[string]string{}}
	choose := func(theme, next string) (status int, location string) {
		got := b.do(t, http.MethodPost, themePath, url.Values{session.FormField: {b.token(t, "/runs")}, "theme": {theme}, "next": {next}})
		return got.Code, got.Header().Get("Location")
	}
	page := func() string { return b.do(t, http.MethodGet, "/runs", nil).Body.String() }
	require.NotContains(t, page(), "data-theme")
	for _, c := range []struct {
		name, theme, next string
		status            int
		location, shown   string
	}{
		{"dark holds on every page", "dark", "/runs?q=a", 303, "/runs?q=a", `<html lang="en" data-theme="dark">`},
		{"an unknown theme changes nothing", "sepia", "/runs", 400, "", `<html lang="en" data-theme="dark">`},
		{"another host is no next page", "light", "//evil.example.com", 303, "/", `<html lang="en" data-theme="light">`},
		{"system follows the browser", "system", "/runs", 303, "/runs", `<html lang="en">`},
	} {
		t.Run(c.name, func(t *testing.T) { // In order: a theme holds until the next one is chosen.
			status, location := choose(c.theme, c.next)
			require.Equal(t, c.status, status)
			require.Equal(t, c.location, location)
			require.Contains(t, page(), c.shown)
		})
	}
	require.Equal(t, 403, b.do(t, http.MethodPost, themePath, url.Values{"theme": {"dark"}}).Code, "a form of another origin has no token")
	require.Equal(t, 405, b.do(t, http.MethodGet, themePath, nil).Code)
	b.cookies["orch-theme"] = `"><script>`
	require.Contains(t, page(), `<html lang="en">`, "a cookie with another value is ignored")
}
