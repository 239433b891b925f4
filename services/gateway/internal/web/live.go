package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flosch/pongo2/v6"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/stream"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web/live"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// livePath is the websocket of pages, below the workspace.
const livePath = "/live"

// serveLive follows a topic for a page. Its reader needs the scope of the topic, now and while the socket is open.
func (s *Site) serveLive(w http.ResponseWriter, r *http.Request, v pageVisit, at workspacePath) {
	topic, valid := live.Parse(r.URL.Query().Get("topic"))
	switch {
	case s.opts.Sockets == nil || !stream.Upgrade(r):
		transcode.NotFound(w)
	case !valid:
		transcode.WriteError(w, rpc.HTTPError(rpc.Detail(http.StatusBadRequest, "The parameter topic names nothing that a page follows.")))
	case !s.sameOrigin(r) || !v.allowed(topic.RPC()):
		transcode.WriteError(w, rpc.HTTPError(errForbidden))
	default:
		admit := func() error {
			if open, ok := session.From(r.Context()); ok && !s.opts.Sessions.Alive(open.ID) {
				return rpc.Detail(http.StatusUnauthorized, "The session has ended.")
			}
			again, err := s.enter(w, r, at)
			if err == nil && !again.allowed(topic.RPC()) {
				err = errForbidden
			}
			return err
		}
		info := v.Scope.Info
		client := stream.Client{Address: info.Peer, Account: info.Account}
		err := s.opts.Sockets.ServeLive(w, r, topic.Watch(s.opts.Vocabulary), client, func() (request.Info, error) { return info, admit() })
		if err != nil {
			transcode.WriteError(w, rpc.HTTPError(err))
		}
	}
}

// sameOrigin reports whether a browser opened a websocket from a page of this server. Websockets are not subject to the
// same-origin policy, and the session's cookie is sent with them.
func (s *Site) sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" { // Not a browser.
		return true
	}
	from, err := url.Parse(origin)
	if err != nil {
		return false
	}
	public, err := url.Parse(s.opts.Server.PageAddresses(r).Root)
	return err == nil && (strings.EqualFold(from.Host, r.Host) || strings.EqualFold(from.Host, public.Host) && from.Scheme == public.Scheme)
}

// still are parameters of views that do not change: a window that has ended, a moment, and further pages of a list.
var still = []string{"to", "at", "older", "skip", "offset", "page"}

// liveAddress returns the address of the websocket of a page, empty for a page that follows nothing.
func (s *Site) liveAddress(r *page.Request, p *page.Page) string {
	if p == nil || p.Live == "" || s.opts.Sockets == nil || r.HTTP.Method == http.MethodPost {
		return ""
	}
	query := r.HTTP.URL.Query()
	if slices.ContainsFunc(still, query.Has) {
		return ""
	}
	topic := p.Live
	for name, value := range r.Vars {
		topic = strings.ReplaceAll(topic, "{"+name+"}", value)
	}
	return r.To("live") + "?topic=" + url.QueryEscape(topic)
}

// fragmentKey is everything that a fragment depends on: the workspace, the permissions of its reader, and the address with the
// prefix of its links.
func (s *Site) fragmentKey(r *page.Request, v pageVisit) string {
	var key strings.Builder
	key.WriteString(v.Scope.Info.Account.String() + " " + v.Scope.Info.Workspace.String() + " ")
	for _, rpc := range s.permissions {
		if v.allowed(rpc) {
			key.WriteByte('1')
		} else {
			key.WriteByte('0')
		}
	}
	key.WriteString(" " + r.Server.Root + " " + r.Base + " " + r.HTTP.URL.RequestURI())
	return key.String()
}

// permissionsOf returns one rpc for each permission that operations require, so they tell all that a reader may do.
func permissionsOf(operations []*transcode.Operation) []string {
	type permission struct {
		realm orchv1.Realm
		scope string
	}
	seen := map[permission]bool{}
	var rpcs []string
	for _, op := range operations {
		p := permission{op.Realm, op.Scope}
		if !op.Public && !seen[p] {
			seen[p] = true
			rpcs = append(rpcs, op.RPC)
		}
	}
	return rpcs
}

// getFragment responds with the content of a page for a script. Readers with the same permissions share it.
func (s *Site) getFragment(w http.ResponseWriter, r *page.Request, v pageVisit, p *page.Page) {
	// One reader renders for all, so the departure of one must not end the calls. Each call has a deadline.
	r.HTTP = r.HTTP.WithContext(context.WithoutCancel(r.HTTP.Context()))
	r.Client = s.readClient(r, v, p)
	found, err := s.fragments.Get(r.HTTP.Context(), s.fragmentKey(r, v), func() ([]byte, error) {
		view, err := viewOf(r, p)
		if err != nil {
			return nil, err
		}
		return s.execute("pages/"+view.Template, pongo2.Context{"site": frame{
			Fragment: true, Base: r.Base, FormField: session.FormField, Zone: r.Zone.String(), Complete: r.Complete(),
		}, "v": view.Data})
	})
	if err != nil {
		s.explain(w, r, v, p, err)
		return
	}
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("ETag", found.Tag)
	w.Header().Set("Vary", "Accept")
	if r.HTTP.Header.Get("If-None-Match") == found.Tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	transcode.WriteBody(w, r.HTTP, http.StatusOK, fragmentType+"; charset=utf-8", found.Body)
}
