package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// withLogin returns a site that accepts one key.
func withLogin(t *testing.T) *Site {
	site := siteWith(t, &stub{answers: lists()}, nil)
	site.opts.Credential = "key"
	readerOf(site).signIn = func(credential string) (string, error) {
		if credential != "right" {
			return "", rpc.Detail(http.StatusUnauthorized, "Unauthorized")
		}
		return "digest", nil
	}
	readerOf(site).enter = func(r *http.Request) error {
		if _, ok := session.From(r.Context()); !ok {
			return rpc.Detail(http.StatusUnauthorized, "Unauthorized")
		}
		return nil
	}
	return site
}

// browserOf keeps cookies between requests to a site.
type browserOf struct {
	site    *Site
	cookies map[string]string
}

func (b *browserOf) do(t *testing.T, method, path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	b.site.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c.Value
			require.True(t, c.HttpOnly && c.SameSite == http.SameSiteLaxMode && c.Path == "/", c.String())
		}
	}
	return w
}

// token returns the form token of a page.
func (b *browserOf) token(t *testing.T, path string) string {
	t.Helper()
	body := b.do(t, "GET", path, nil).Body.String()
	_, rest, found := strings.Cut(body, `name="`+session.FormField+`" value="`)
	require.True(t, found, body)
	token, _, _ := strings.Cut(rest, `"`)
	return token
}

// signIn opens a session with the valid key.
func (b *browserOf) signIn(t *testing.T) {
	t.Helper()
	require.Equal(t, 303, b.do(t, "POST", "/login", url.Values{"secret": {"right"}, session.FormField: {b.token(t, "/login")}}).Code)
}

func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	b := &browserOf{withLogin(t), map[string]string{}}
	got := b.do(t, "GET", "/runs?state=FAILED", nil)
	require.Equal(t, 303, got.Code)
	require.Equal(t, "/login?next=%2Fruns%3Fstate%3DFAILED", got.Header().Get("Location"))
	require.Equal(t, 401, b.do(t, "GET", "/runs", nil, "Accept: application/json").Code)

	login := "/login?next=%2Fruns%3Fstate%3DFAILED"
	got = b.do(t, "POST", login, url.Values{"secret": {"right"}})
	require.Equal(t, 403, got.Code, "no form token")
	got = b.do(t, "POST", login, url.Values{"secret": {"wrong"}, session.FormField: {b.token(t, login)}})
	require.Equal(t, 401, got.Code)
	require.Contains(t, got.Body.String(), "not valid")
	right := url.Values{"secret": {"right"}, session.FormField: {b.token(t, login)}}
	require.Equal(t, 403, b.do(t, "POST", login, right, "Sec-Fetch-Site: cross-site").Code)
	got = b.do(t, "POST", login, right)
	require.Equal(t, 303, got.Code)
	require.Equal(t, "/runs?state=FAILED", got.Header().Get("Location"))
	require.Equal(t, 200, b.do(t, "GET", "/runs?state=FAILED", nil).Code)

	stolen := b.cookies["orch"]
	require.Equal(t, 403, b.do(t, "POST", "/logout", url.Values{}).Code)
	require.Equal(t, 303, b.do(t, "POST", "/logout", url.Values{session.FormField: {b.token(t, "/runs")}}).Code)
	require.Equal(t, 303, b.do(t, "GET", "/runs", nil).Code)
	b.cookies["orch"] = stolen
	require.Equal(t, 303, b.do(t, "GET", "/runs", nil).Code, "the session has ended, whoever has the cookie")
}

// TestSignOutBelowAWorkspace submits the sign-out form of a page whose address names a workspace.
func TestSignOutBelowAWorkspace(t *testing.T) {
	t.Parallel()
	b := &browserOf{withLogin(t), map[string]string{}}
	b.signIn(t)
	workspace := "/account/" + someID + "/workspace/" + someID
	got := b.do(t, "GET", workspace+"/runs", nil)
	require.Equal(t, 200, got.Code)
	_, rest, found := strings.Cut(got.Body.String(), `<form method="post" action="`)
	require.True(t, found)
	action, _, _ := strings.Cut(rest, `"`)
	require.Equal(t, 303, b.do(t, "POST", action, url.Values{session.FormField: {b.token(t, workspace+"/runs")}}).Code, action)
	require.Equal(t, 303, b.do(t, "GET", workspace+"/runs", nil).Code, "the session has ended")
}

// TestPasswordsKeepTheirBlanks signs in with blanks around the credential: a password has them, a key does not.
func TestPasswordsKeepTheirBlanks(t *testing.T) {
	t.Parallel()
	for credential, want := range map[string]string{"password": "me: a b ", "key": "a b"} {
		b := &browserOf{withLogin(t), map[string]string{}}
		b.site.opts.Credential = credential
		var got string
		readerOf(b.site).signIn = func(credential string) (string, error) {
			got = credential
			return "digest", nil
		}
		form := url.Values{"user": {"me"}, "secret": {" a b "}, session.FormField: {b.token(t, "/login")}}
		require.Equal(t, 303, b.do(t, "POST", "/login", form).Code)
		require.Equal(t, want, got)
	}
}

func TestSignInIsRateLimited(t *testing.T) {
	t.Parallel()
	b := &browserOf{withLogin(t), map[string]string{}}
	form := url.Values{"secret": {"wrong"}, session.FormField: {b.token(t, "/login")}}
	for range session.MaxAttempts {
		require.Equal(t, 401, b.do(t, "POST", "/login", form).Code)
	}
	got := b.do(t, "POST", "/login", form)
	require.Equal(t, 429, got.Code)
	require.Equal(t, "60", got.Header().Get("Retry-After"))
	form.Set("secret", "right")
	require.Equal(t, 303, b.do(t, "POST", "/login", form).Code, "others who share the address sign in")

	b = &browserOf{withLogin(t), map[string]string{}}
	b.site.opts.Credential = "password"
	form = url.Values{"user": {"ada"}, "secret": {"wrong"}, session.FormField: {b.token(t, "/login")}}
	for i := range session.MaxAttempts {
		form.Set("secret", strconv.Itoa(i))
		require.Equal(t, 401, b.do(t, "POST", "/login", form).Code)
	}
	require.Equal(t, 429, b.do(t, "POST", "/login", form).Code, "another password for the same name")
}

func TestNextIsAPathOfThisServer(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/runs?state=FAILED": "/runs?state=FAILED", "": "/", "https://evil.example.com/": "/", "//evil.example.com": "/",
		`/\evil.example.com`: "/", "/\t/evil.example.com": "/", "runs": "/", "/logout": "/", "javascript:alert(1)": "/",
	} {
		require.Equal(t, want, localPath(next), next)
	}
}

// Forms are bounded before they are parsed, those of somebody who has not signed in most.
func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	fields := func(n int) url.Values {
		form := url.Values{}
		for i := range n {
			form.Set("a"+strconv.Itoa(i), "")
		}
		return form
	}
	b := &browserOf{withLogin(t), map[string]string{}}
	require.Equal(t, 413, b.do(t, "POST", "/login", url.Values{"secret": {strings.Repeat("x", 16<<10)}}).Code)
	require.Equal(t, 413, b.do(t, "POST", "/login", fields(5000)).Code)
	b.signIn(t)
	require.Equal(t, 413, b.do(t, "POST", "/runs", fields(10_001)).Code)
	require.Equal(t, 403, b.do(t, "POST", "/runs", fields(9_000)).Code, "only its token is missing")
}
