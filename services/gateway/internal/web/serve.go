package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/requestlog"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/pages"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

const (
	// maxForm is the maximum size of a submitted form in bytes, and maxLoginForm that of somebody who has not signed in.
	maxForm      = 4 << 20
	maxLoginForm = 16 << 10
	// maxFields is the maximum number of fields of a form. The parser takes much more memory for each than it has bytes.
	maxFields = 10_000
)

// servePage authenticates the reader, then serves the page of the path.
func (s *Site) servePage(w http.ResponseWriter, r *http.Request) {
	escaped := r.URL.EscapedPath()
	at, rest := splitWorkspacePath(escaped)
	v, err := s.enter(w, r, at)
	if err != nil {
		requestlog.SetRoute(w, transcode.Unmatched)
		s.refuse(w, r, err)
		return
	}
	if at.account == uuid.Nil && s.serveExplorer(w, r) {
		return
	}
	if rest == livePath {
		requestlog.SetRoute(w, livePath)
		s.serveLive(w, r, v, at)
		return
	}
	found, vars := s.routes.find(rest)
	route := transcode.Unmatched
	if found != nil {
		route = found.Pattern
	}
	requestlog.SetRoute(w, route)
	request := s.request(w, r, v, at)
	if found == nil {
		s.explain(w, request, v, nil, &page.NotFound{What: "page"})
		return
	}
	if !v.Member && len(v.Workspaces) == 1 && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		only := v.Workspaces[0]
		target := s.prefix(r) + "/account/" + only.Account + "/workspace/" + only.ID + escaped
		if r.URL.RawQuery != "" {
			target += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, target, http.StatusSeeOther) //nolint:gosec // It begins with the prefix and a workspace of this server.
		return
	}
	// The page sees its path without the workspace.
	inner := *request.HTTP.URL
	inner.RawPath = rest
	if inner.Path, err = url.PathUnescape(rest); err != nil {
		s.explain(w, request, v, nil, &page.NotFound{What: "page"})
		return
	}
	clone := *request.HTTP
	clone.URL = &inner
	request.HTTP, request.Vars = &clone, vars
	if !request.Fragment && found.Serve == nil {
		v.counts = s.sectionCounts(request, v)
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if v.counts != nil {
			go v.counts() // The page does not wait for them longer than for its own calls.
		}
		s.get(w, request, v, found)
	case http.MethodPost:
		s.post(w, request, v, found)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		s.explain(w, request, v, found, rpc.Detail(http.StatusMethodNotAllowed, "Method Not Allowed"))
	}
}

// sectionCounts returns a function that reads the counts of the navigation, once. Readers of a workspace share the calls.
func (s *Site) sectionCounts(r *page.Request, v pageVisit) func() map[string]pages.SectionCount {
	options := v.callOptions(apicall.ReadTimeout, pages.SectionCountCalls...)
	options.Cache = s.results
	clone := *r
	clone.Client = apicall.NewClient(s.opts.API, r.HTTP, options)
	return sync.OnceValue(func() map[string]pages.SectionCount { return pages.SectionCounts(&clone) })
}

// request builds the page's request without its calls.
func (s *Site) request(w http.ResponseWriter, r *http.Request, v pageVisit, at workspacePath) *page.Request {
	now := s.opts.Clock.Now()
	addresses := s.opts.Server.PageAddresses(r)
	reader := param.NewReader(r.URL.Query(), now)
	return &page.Request{
		Client:    apicall.NewClient(s.opts.API, v.request, v.callOptions(apicall.ReadTimeout)),
		Reader:    reader,
		HTTP:      v.request,
		Base:      s.prefix(r) + at.prefix(),
		FormToken: s.formToken(w, r),
		Server: page.Server{
			Version: s.opts.Version, Vocabulary: s.opts.Vocabulary, Credential: s.opts.Credential,
			Root: addresses.Root, API: addresses.Root + v.Scope.Path.Prefix, Hooks: addresses.Hooks, Metrics: addresses.Metrics,
		},
		Now: now, Zone: reader.Zone(),
		Allowed: v.allowed,
		Forward: func(w http.ResponseWriter, to *url.URL) error {
			forwarded := v.request.WithContext(v.request.Context())
			forwarded.URL = to
			s.opts.API.Serve(w, forwarded, v.Scope)
			return nil
		},
		Write: func(w http.ResponseWriter, contentType string, body []byte) {
			transcode.WriteBody(w, v.request, http.StatusOK, contentType, body)
		},
		Name: v.Name, Fragment: wantsFragment(r), Prefix: s.prefix(r),
		Account: v.Scope.Info.Account.String(), Workspace: v.Scope.Info.Workspace.String(),
		Sessions:   func() []page.Session { return s.sessionsOf(v.request) },
		EndSession: func(id string) error { return s.endSession(v.request, id) },
	}
}

// prefix returns the path of the public URL, empty for a server at the root.
func (s *Site) prefix(r *http.Request) string {
	root := s.opts.Server.PageAddresses(r).Root
	if _, after, found := strings.Cut(root, "://"); found {
		if i := strings.IndexByte(after, '/'); i >= 0 {
			return strings.TrimRight(after[i:], "/")
		}
	}
	return ""
}

func (s *Site) get(w http.ResponseWriter, r *page.Request, v pageVisit, p *page.Page) {
	if !r.May(p.Needs...) {
		s.explain(w, r, v, p, errForbidden)
		return
	}
	if r.Fragment && p.Live != "" {
		s.getFragment(w, r, v, p)
		return
	}
	r.Client = s.readClient(r, v, p)
	if p.Serve != nil {
		if err := p.Serve(w, r); err != nil {
			s.explain(w, r, v, p, err)
		}
		return
	}
	view, err := viewOf(r, p)
	if err != nil {
		s.explain(w, r, v, p, err)
		return
	}
	s.answer(w, r, v, p, view)
}

// readClient returns the client of a page that reads. Readers of a workspace share what its charts ask for.
func (s *Site) readClient(r *page.Request, v pageVisit, p *page.Page) *apicall.Client {
	options := v.callOptions(r.ReadTimeout(), slices.Concat(p.Needs, p.Uses)...)
	options.Cache = s.results
	return apicall.NewClient(s.opts.API, r.HTTP, options)
}

// viewOf builds the view of a page. A bad parameter is an error, even if the page did not need to stop for it.
func viewOf(r *page.Request, p *page.Page) (page.View, error) {
	view, err := p.Show(r)
	if err == nil {
		err = r.Err()
	}
	return view, err
}

// formToken returns the token of forms. Fragments have none, because several readers may share one: the script keeps the
// token of its page.
func (s *Site) formToken(w http.ResponseWriter, r *http.Request) string {
	if wantsFragment(r) {
		return ""
	}
	return session.FormToken(w, r, s.secure(r))
}

var errForbidden = rpc.Detail(http.StatusForbidden, "Forbidden")

// Writes reports whether a request is a form whose action writes, and its sender may perform it. It parses the form.
func (s *Site) Writes(r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	at, rest := splitWorkspacePath(r.URL.EscapedPath())
	found, _ := s.routes.find(rest)
	if found == nil {
		return false
	}
	v, err := s.enter(nil, s.withSession(r), at)
	if err != nil || s.checkForm(nil, r, maxForm) != nil {
		return false
	}
	forbidden := func(rpc string) bool { return !v.allowed(rpc) }
	writes := func(rpc string) bool { return !s.opts.API.Operation(rpc).ReadOnly }
	for _, action := range found.Actions {
		if action.Name == r.PostForm.Get("action") {
			return slices.ContainsFunc(action.Calls, writes) && !slices.ContainsFunc(slices.Concat(found.Needs, action.Calls), forbidden)
		}
	}
	return false
}

// post performs the action that the form names.
func (s *Site) post(w http.ResponseWriter, r *page.Request, v pageVisit, p *page.Page) {
	switch err := s.checkForm(w, r.HTTP, maxForm); {
	case errors.Is(err, errExpiredForm):
		s.answer(w, r, v, p, sendAgain(r))
		return
	case err != nil:
		s.explain(w, r, v, p, err)
		return
	}
	r.Form = r.HTTP.PostForm
	for i := range p.Actions {
		action := &p.Actions[i]
		if action.Name != r.Form.Get("action") {
			continue
		}
		if !r.May(p.Needs...) || !r.May(action.Calls...) {
			s.explain(w, r, v, p, errForbidden)
			return
		}
		r.Client = apicall.NewClient(s.opts.API, r.HTTP, v.callOptions(apicall.WriteTimeout, slices.Concat(p.Needs, p.Uses, action.Calls)...))
		view, err := action.Do(r)
		if err != nil {
			s.explain(w, r, v, p, err)
			return
		}
		s.answer(w, r, v, p, view)
		return
	}
	s.explain(w, r, v, p, rpc.Detail(http.StatusBadRequest, "The form names no action of this page."))
}

// checkForm parses a form of at most limit bytes and checks that a page of this server sent it. Its error is the response.
func (s *Site) checkForm(w http.ResponseWriter, r *http.Request, limit int64) error {
	if err := s.origin.Check(r); err != nil {
		return rpc.Detail(http.StatusForbidden, "The form comes from another site.")
	}
	if err := parseForm(w, r, limit); err != nil {
		return err
	}
	if !session.ValidForm(r, r.PostForm.Get(session.FormField), s.secure(r)) {
		return errExpiredForm
	}
	return nil
}

// parseForm parses a form, once. It bounds bytes and fields before it builds them.
func parseForm(w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.PostForm != nil {
		return nil
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return rpc.Detail(http.StatusRequestEntityTooLarge, fmt.Sprintf("The form is larger than %d kB.", limit>>10))
	}
	if bytes.Count(text, []byte{'&'}) >= maxFields {
		return rpc.Detail(http.StatusRequestEntityTooLarge, fmt.Sprintf("The form has more than %d fields.", maxFields))
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	if err == nil {
		err = r.ParseForm()
	}
	if err != nil {
		return rpc.Detail(http.StatusBadRequest, "The form cannot be read.")
	}
	return nil
}

// errExpiredForm is the response to a form of this origin whose token belongs to an earlier session.
var errExpiredForm = rpc.Detail(http.StatusForbidden, "The form has expired. Go back, reload the page and send it again.")

// sendAgain asks whether an expired form shall be sent after all, so that nothing that was typed is lost. The reader confirms it with
// a token of the current session. Forms of other origins do not get here.
func sendAgain(r *page.Request) page.View {
	view := pages.SendAgain(r, r.HTTP.PostForm, session.FormField)
	view.Status = http.StatusForbidden
	return view
}

// serveExplorer serves the API explorer. It reports whether it responded.
func (s *Site) serveExplorer(w http.ResponseWriter, r *http.Request) bool {
	path := r.URL.Path
	if path == "/docs" || path == "/docs/" {
		requestlog.SetRoute(w, "/docs/{file}")
		if readOnly(w, r) {
			s.serveDocs(w, r)
		}
		return true
	}
	if path == "/docs/openapi.json" { // The session does not count below /api.
		requestlog.SetRoute(w, "/docs/{file}")
		s.Description(w, r)
		return true
	}
	name, found := strings.CutPrefix(path, "/docs/")
	if !found || s.explorer[name] == nil {
		return false
	}
	requestlog.SetRoute(w, "/docs/{file}")
	s.explorer[name].ServeHTTP(w, r)
	return true
}

// refuse responds to a request that Enter refused: browsers sign in, other clients get the error.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := rpc.HTTPError(err)
	if browser(r) && e.GetStatus() == http.StatusUnauthorized && r.Header.Get("Authorization") == "" {
		if r.Method != http.MethodGet {
			s.standalone(w, r, http.StatusUnauthorized, "Signed out", "Your session has ended. Sign in in another tab, then go back to the form and send it again.")
			return
		}
		next := url.Values{}
		if r.URL.RequestURI() != "/" {
			next.Set("next", r.URL.RequestURI())
		}
		target := s.prefix(r) + "/login"
		if len(next) > 0 {
			target += "?" + next.Encode()
		}
		http.Redirect(w, r, target, http.StatusSeeOther)
		return
	}
	if browser(r) && e.GetStatus() != http.StatusUnauthorized {
		title, text := describe(e)
		s.standalone(w, r, int(e.GetStatus()), title, text)
		return
	}
	if s.opts.Credential == "key" && e.GetStatus() == http.StatusUnauthorized { // The browser then prompts for a password, which is the key.
		w.Header().Set("WWW-Authenticate", `Basic realm="Orch", charset="UTF-8"`)
		e = &orchv1.HttpError{Status: e.GetStatus(), Form: e.GetForm()}
	}
	transcode.WriteError(w, e)
}
