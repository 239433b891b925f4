package web

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"

	"github.com/flosch/pongo2/v6"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// loginView is the data of the sign-in page.
type loginView struct {
	Credential, Next, Action, User, Problem string
	FormToken, FormField                    string
}

// login shows the sign-in form and opens sessions.
func (s *Site) login(w http.ResponseWriter, r *http.Request) {
	next := s.prefix(r) + localPath(r.URL.Query().Get("next"))
	if s.opts.Credential == "" {
		http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // localPath makes it a path of this server.
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		s.loginForm(w, r, http.StatusOK, "", "")
	case http.MethodPost:
		s.signIn(w, r, next)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		transcode.WriteError(w, rpc.HTTPError(rpc.Detail(http.StatusMethodNotAllowed, "Method Not Allowed")))
	}
}

// localPath returns a path of this server to continue with after sign-in. Anything that a browser could read as another
// host becomes "/".
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsAny(next, "\\\t\r\n") || u.Path == "/login" || u.Path == "/logout" {
		return "/"
	}
	return u.RequestURI()
}

func (s *Site) loginForm(w http.ResponseWriter, r *http.Request, status int, user, problem string) {
	f := frame{Title: "Sign in", Base: s.prefix(r), Static: s.prefix(r) + s.staticPath, Version: s.opts.Version, Themes: s.themeChoices(r)}
	s.render(w, r, status, "login.html", pongo2.Context{"site": f, "v": loginView{
		Credential: s.opts.Credential, Action: s.prefix(r) + "/login", Next: r.URL.Query().Get("next"), User: user, Problem: problem,
		FormToken: session.FormToken(w, r, s.secure(r)), FormField: session.FormField,
	}})
}

func (s *Site) signIn(w http.ResponseWriter, r *http.Request, next string) {
	if err := s.checkForm(w, r, maxLoginForm); err != nil {
		_, text := describe(rpc.HTTPError(err))
		s.loginForm(w, r, int(rpc.HTTPError(err).GetStatus()), r.PostForm.Get("user"), text)
		return
	}
	user, secret := r.PostForm.Get("user"), r.PostForm.Get("secret")
	from, name := s.opts.Authorizer.Client(r), user
	if s.opts.Credential != "password" {
		digest := sha256.Sum256([]byte(secret)) // The key identifies its user; the name in the form does not count.
		name = string(digest[:])
	}
	if !s.attempts.Allow(from, name) {
		w.Header().Set("Retry-After", "60")
		s.loginForm(w, r, http.StatusTooManyRequests, user, "Too many failed attempts from your address. Try again in a minute.")
		return
	}
	credential := strings.TrimSpace(secret) // A key has no blanks, but what people paste may.
	if s.opts.Credential == "password" {
		credential = user + ":" + secret
	}
	digest, err := s.opts.Authorizer.SignIn(r, credential)
	if err != nil {
		e := rpc.HTTPError(err)
		problem := "This key is not valid, or it was revoked."
		if s.opts.Credential == "password" {
			problem = "User or password is wrong."
		}
		if e.GetStatus() != http.StatusUnauthorized {
			_, problem = describe(e)
		}
		s.loginForm(w, r, int(e.GetStatus()), user, problem)
		return
	}
	s.attempts.Succeeded(from, name)
	if old := session.Token(r, s.secure(r)); old != "" {
		if found, ok := s.opts.Sessions.Find(r.Context(), old); ok {
			_ = s.opts.Sessions.Close(r.Context(), found.ID) // It expires by itself.
		}
	}
	token, err := s.opts.Sessions.Open(r.Context(), session.Session{Digest: digest, Agent: limited(r.UserAgent()), Address: from.String()})
	if err != nil {
		s.opts.Log.WarnContext(r.Context(), "failed to open a session", "error", err)
		s.loginForm(w, r, http.StatusServiceUnavailable, user, "The session cannot be stored now. Try again in a moment.")
		return
	}
	session.SetToken(w, token, s.secure(r))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // localPath makes it a path of this server.
}

func limited(agent string) string {
	const most = 200
	return strings.ToValidUTF8(show.Prefix(agent, most), "")
}

// logout ends the session of the browser.
func (s *Site) logout(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		transcode.WriteError(w, rpc.HTTPError(rpc.Detail(http.StatusMethodNotAllowed, "Method Not Allowed")))
		return
	}
	if err := s.checkForm(w, r, maxLoginForm); err != nil {
		title, text := describe(rpc.HTTPError(err))
		s.standalone(w, r, int(rpc.HTTPError(err).GetStatus()), title, text)
		return
	}
	if open, ok := session.From(r.Context()); ok {
		if err := s.opts.Sessions.Close(r.Context(), open.ID); err != nil {
			s.opts.Log.WarnContext(r.Context(), "failed to close a session", "error", err)
			s.standalone(w, r, http.StatusServiceUnavailable, "Not signed out", "The session cannot be ended now. Try again in a moment.")
			return
		}
	}
	session.SetToken(w, "", s.secure(r))
	http.Redirect(w, r, s.prefix(r)+"/login", http.StatusSeeOther)
}
