package gateway

import (
	"net/http"
	"strings"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/requestlog"
	"github.com/orch-project/orch/services/gateway/internal/stream"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web"
)

// route dispatches a request to the handler of its path.
func (g *Gateway) route(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if strings.HasPrefix(g.cfg.PublicURL, "https://") {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	if below(r.URL.Path, "/hooks") {
		requestlog.SetRoute(w, "/hooks/{slug}")
		g.hooks.ServeHTTP(w, r)
		return
	}
	if err := g.guard.CheckHostAndOrigin(r); err != nil {
		transcode.WriteError(w, rpc.HTTPError(err))
		return
	}
	if g.guard.CORS(w, r) {
		return
	}
	if below(r.URL.Path, "/api") {
		g.serveAPI(w, r)
		return
	}
	g.site.ServeHTTP(w, r)
}

// below reports whether a path is the root or under it.
func below(path, root string) bool {
	rest, found := strings.CutPrefix(path, root)
	return found && (rest == "" || rest[0] == '/')
}

// serveAPI removes the prefix, binds the request to its workspace and transcodes it.
func (g *Gateway) serveAPI(w http.ResponseWriter, r *http.Request) {
	path, ok := address.Split(r.URL)
	if !ok {
		requestlog.SetRoute(w, transcode.Unmatched)
		if err := g.authorizer.Authenticate(r); err != nil {
			transcode.WriteError(w, rpc.HTTPError(err))
			return
		}
		transcode.NotFound(w)
		return
	}
	if stream.Upgrade(r) {
		g.serveSocket(w, r, path)
		return
	}
	if path.URL.Path == "/openapi.json" {
		requestlog.SetRoute(w, "/openapi.json")
		if err := g.authorizer.Authenticate(r); err != nil {
			transcode.WriteError(w, rpc.HTTPError(err))
			return
		}
		g.site.Description(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-store") // Responses hold data of a workspace, and new keys.
	stripped := r.WithContext(r.Context())
	stripped.URL = path.URL
	g.api.Serve(w, stripped, g.authorizer.Scope(w, r, path))
}

// PageAddresses returns the addresses for the status page.
func (g *Gateway) PageAddresses(r *http.Request) web.Addresses {
	at := web.Addresses{Root: g.addresses.Root(r), Hooks: g.addresses.Hooks(r)}
	at.API = at.Root + "/api"
	if g.deps.InternalURL != "" {
		at.Metrics = strings.TrimSuffix(g.deps.InternalURL, "/") + "/metrics"
	}
	return at
}

// Parts are the process's workers and checks, or the gateway alone.
func (g *Gateway) Parts() []run.Item {
	if g.deps.Health != nil {
		return g.deps.Health.Ready().Checks
	}
	item := run.Item{Name: g.Name(), OK: true}
	if err := g.Ready(); err != nil {
		item.OK, item.Error = false, err.Error()
	}
	return []run.Item{item}
}
