package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/flosch/pongo2/v6"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/requestlog"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/pages"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// frame is what the layout shows around a page.
type frame struct {
	Title, Base, Static, FormToken, FormField string
	Version, Name, Live, Now                  string
	Nav                                       []navGroup
	// Current is the entry of the navigation that the page belongs to, empty for none.
	Current    navEntry
	SignOut    string
	SearchIcon *pongo2.Value
	Notices    []page.Notice
	Refused    []refusedRow
	Remedy     string
	Calls      []callRow
	CallCount  int
	Workspaces []workspaceRow
	Workspace  string
	Zone       string
	SignedIn   bool
	// Themes are the choices of the foot, whose form posts to ThemePath and leads back to Here.
	Themes          []themeChoice
	ThemePath, Here string
	Fragment        bool
	// Complete leads to the page with the parts that took too long; empty if none did.
	Complete string
}

// Theme returns the theme of the page, empty for the one of the browser.
func (f frame) Theme() string {
	for _, t := range f.Themes {
		if t.Current && t.Value != session.SystemTheme {
			return t.Value
		}
	}
	return ""
}

// maxCalls and maxCallBody bound what a page shows of the calls that made it.
const (
	maxCalls    = 20
	maxCallBody = 20_000
)

// navGroup is a part of the navigation; the first one has no title.
type navGroup struct {
	Title   string
	Entries []navEntry
}

type navEntry struct {
	Path, Title string
	Icon        *pongo2.Value
	Current     bool
	// Count is what needs a person; its number is empty for nothing.
	Count pages.SectionCount
}

type callRow struct{ Method, Path, JSON, Curl string }

// refusedRow is a client of another vocabulary.
type refusedRow struct{ Client, Address, Last, Expects, What string }

type workspaceRow struct {
	Path, Name string
	Current    bool
}

// answer responds with a view.
func (s *Site) answer(w http.ResponseWriter, r *page.Request, v pageVisit, p *page.Page, view page.View) {
	if view.Redirect != "" {
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r.HTTP, view.Redirect, http.StatusSeeOther)
		return
	}
	f := s.frame(r, v, p)
	f.Title, f.Live, f.Complete = view.Title, s.liveAddress(r, p), r.Complete()
	if notice, ok := s.notice(r); ok {
		f.Notices = append(f.Notices, notice)
	}
	f.Notices = append(f.Notices, view.Notices...)
	calls := r.Calls()
	f.CallCount = len(calls)
	for _, c := range calls[:min(len(calls), maxCalls)] {
		if len(c.Body) > maxCallBody {
			c.Body = ""
		}
		api := r.Server.API
		if c.Global {
			api = s.opts.Server.PageAddresses(r.HTTP).API
		}
		f.Calls = append(f.Calls, callRow{c.Method, c.Path, c.JSON(), c.Curl(api, r.Server.Credential)})
	}
	s.render(w, r.HTTP, max(view.Status, http.StatusOK), "pages/"+view.Template, pongo2.Context{"site": f, "v": view.Data})
}

// frame builds the navigation for a reader.
func (s *Site) frame(r *page.Request, v pageVisit, p *page.Page) frame {
	f := frame{
		Base: r.Base, Static: s.prefix(r.HTTP) + s.staticPath, FormToken: r.FormToken, FormField: session.FormField,
		Version: s.opts.Version, Name: v.Name, Zone: r.Zone.String(),
		Now: show.Clock{Zone: r.Zone}.Text(r.Now),
	}
	f.Themes, f.ThemePath, f.Here = s.themeChoices(r.HTTP), s.prefix(r.HTTP)+themePath, strings.TrimPrefix(r.Here(), s.prefix(r.HTTP))
	f.SearchIcon = show.Icon("search").HTML()
	f.SignOut, f.Fragment = s.prefix(r.HTTP)+"/logout", r.Fragment
	_, f.SignedIn = session.From(r.HTTP.Context())
	var counts map[string]pages.SectionCount
	if v.counts != nil {
		counts = v.counts()
	}
	f.Refused, f.Remedy = s.refusedClients(r, v), s.opts.Vocabulary.Remedy()
	for _, section := range pages.Sections() {
		if !r.May(section.Needs...) || section.WithKeys && r.Server.Credential != "key" {
			continue
		}
		entry := navEntry{
			Path: r.Base + section.Path, Title: section.Title, Icon: show.Icon(section.Icon).HTML(),
			Current: p != nil && p.Section == section.Path, Count: counts[section.Path],
		}
		if section.Outside {
			entry.Path = s.prefix(r.HTTP) + section.Path
		}
		if entry.Current {
			f.Current = entry
		}
		if last := len(f.Nav) - 1; last < 0 || f.Nav[last].Title != section.Group {
			f.Nav = append(f.Nav, navGroup{Title: section.Group})
		}
		group := &f.Nav[len(f.Nav)-1]
		group.Entries = append(group.Entries, entry)
	}
	for _, workspace := range v.Workspaces {
		row := workspaceRow{
			Path:    s.prefix(r.HTTP) + "/account/" + workspace.Account + "/workspace/" + workspace.ID + "/",
			Name:    workspace.AccountHandle + " / " + workspace.Name,
			Current: workspace.ID == v.Scope.Info.Workspace.String(),
		}
		if row.Current {
			f.Workspace = workspace.Name
		}
		f.Workspaces = append(f.Workspaces, row)
	}
	return f
}

// refusedClients are the clients of the workspace that were lately refused.
func (s *Site) refusedClients(r *page.Request, v pageVisit) []refusedRow {
	if s.opts.Refused == nil || !v.Member {
		return nil
	}
	var rows []refusedRow
	for _, refusal := range s.opts.Refused.Of(v.Scope.Info.Workspace) {
		row := refusedRow{
			Client: cmp.Or(refusal.Client, "a client without User-Agent"), Address: cmp.Or(refusal.Address, "an unknown address"),
			Last: show.Clock{Zone: r.Zone}.Text(refusal.Last), Expects: s.opts.Vocabulary.Other().String(), What: "writes",
		}
		if refusal.Events {
			row.What = "events"
		}
		rows = append(rows, row)
	}
	return rows
}

// notice words the outcome of the action that redirected here. The URL names the action; its sentence is constant.
func (s *Site) notice(r *page.Request) (page.Notice, bool) {
	sentence := s.done[r.HTTP.URL.Query().Get("did")]
	if sentence == "" || r.HTTP.Method == http.MethodPost {
		return page.Notice{}, false
	}
	if strings.Contains(sentence, "%d") {
		count, err := strconv.ParseUint(r.HTTP.URL.Query().Get("count"), 10, 31)
		if err != nil {
			return page.Notice{}, false
		}
		if count == 1 {
			sentence = strings.Replace(sentence, "%d runs are", "%d run is", 1)
		}
		sentence = fmt.Sprintf(sentence, count)
	}
	return page.Notice{Kind: "good", Text: sentence}, true
}

// render responds with a page.
func (s *Site) render(w http.ResponseWriter, r *http.Request, status int, name string, values pongo2.Context) {
	body, err := s.execute(name, values)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	transcode.WriteBody(w, r, status, "text/html; charset=utf-8", body)
}

// execute renders a template. The template engine panics on some mistakes of templates; a page must not end the process.
func (s *Site) execute(name string, values pongo2.Context) (body []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("render %s: %v", name, cause)
		}
	}()
	template, err := s.templates.FromCache(name)
	if err != nil {
		return nil, fmt.Errorf("find template: %w", err)
	}
	var out bytes.Buffer
	if err := template.ExecuteWriter(values, &out); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return out.Bytes(), nil
}

func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.opts.Log.ErrorContext(r.Context(), "failed to render a page", "request_id", requestlog.RequestID(w), "error", err)
	transcode.WriteError(w, &orchv1.HttpError{
		Status: http.StatusInternalServerError,
		Form:   &orchv1.HttpError_ExceptionMessage{ExceptionMessage: "Internal Server Error"},
	})
}
