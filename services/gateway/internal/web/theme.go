package web

import (
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// themePath is the path that the form of the foot posts to. It needs no sign-in: the choice belongs to the browser.
const themePath = "/theme"

// themeChoice is a button of the foot.
type themeChoice struct {
	Value, Title string
	Current      bool
}

// themeChoices returns the themes with the one of the browser.
func (s *Site) themeChoices(r *http.Request) []themeChoice {
	current := session.Theme(r, s.secure(r))
	all := []themeChoice{{session.SystemTheme, "System", false}, {session.LightTheme, "Light", false}, {session.DarkTheme, "Dark", false}}
	for i := range all {
		all[i].Current = all[i].Value == current
	}
	return all
}

// chooseTheme stores the theme of the browser and leads back to the page with the form.
func (s *Site) chooseTheme(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		transcode.WriteError(w, rpc.HTTPError(rpc.Detail(http.StatusMethodNotAllowed, "Method Not Allowed")))
		return
	}
	err := s.checkForm(w, r, maxLoginForm)
	if err == nil && !session.ValidTheme(r.PostForm.Get("theme")) {
		err = rpc.Detail(http.StatusBadRequest, "The theme must be system, light or dark.")
	}
	if err != nil {
		title, text := describe(rpc.HTTPError(err))
		s.standalone(w, r, int(rpc.HTTPError(err).GetStatus()), title, text)
		return
	}
	session.SetTheme(w, r.PostForm.Get("theme"), s.secure(r))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, s.prefix(r)+localPath(r.PostForm.Get("next")), http.StatusSeeOther) //nolint:gosec // localPath makes it a path of this server.
}
