package gateway

import (
	"context"
	"net/http"
	"strings"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
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
		if err := g.authorize(r, nil, authn.Need{}); err != nil {
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
		if err := g.authorize(r, nil, authn.Need{}); err != nil {
			transcode.WriteError(w, rpc.HTTPError(err))
			return
		}
		g.site.Description(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-store") // Responses hold data of a workspace, and new keys.
	g.api.ServeHTTP(w, g.bind(w, r, path))
}

// bind returns a request without the API's prefix, bound to its path. The writer may be nil.
func (g *Gateway) bind(w http.ResponseWriter, r *http.Request, path address.WorkspacePath) *http.Request {
	stripped := r.WithContext(context.WithValue(r.Context(), requestScopeKey{}, requestScope{info: g.info(w, r, path.Prefix), path: path}))
	stripped.URL = path.URL
	return stripped
}

// info is the request metadata for the services.
func (g *Gateway) info(w http.ResponseWriter, r *http.Request, prefix string) request.Info {
	apiVersion, _ := vocabulary.ClientAPIVersion(r.Header)
	info := request.Info{
		Account:    request.DefaultAccount,
		Workspace:  request.DefaultWorkspace,
		PublicURL:  printable(g.addresses.Root(r) + prefix),
		HooksURL:   printable(g.addresses.Hooks(r)),
		UserAgent:  printable(r.UserAgent()),
		Peer:       g.addresses.Client(r),
		APIVersion: printable(apiVersion),
		Expects:    vocabulary.OfClient(r.Header),
		ID:         requestlog.RequestID(w),
		Caller:     request.Caller{Unauthenticated: g.mode != authn.ByKey},
	}
	if id, name, ok := vocabulary.Automation(r.Header); ok {
		info.Automation = request.Automation{ID: id, Name: name}
	}
	return info
}

// pageAddresses returns the addresses for the status page.
func (g *Gateway) pageAddresses(r *http.Request) web.Addresses {
	at := web.Addresses{Root: g.addresses.Root(r), Hooks: g.addresses.Hooks(r)}
	at.API = at.Root + "/api"
	if g.deps.InternalURL != "" {
		at.Metrics = strings.TrimSuffix(g.deps.InternalURL, "/") + "/metrics"
	}
	return at
}

// parts are the process's workers and checks, or the gateway alone.
func (g *Gateway) parts() []run.Item {
	if g.deps.Health != nil {
		return g.deps.Health.Ready().Checks
	}
	item := run.Item{Name: g.Name(), OK: true}
	if err := g.Ready(); err != nil {
		item.OK, item.Error = false, err.Error()
	}
	return []run.Item{item}
}

// printable removes what gRPC metadata cannot carry and truncates excessive lengths.
func printable(text string) string {
	const longest = 1024
	clean := true
	for i := range len(text) {
		clean = clean && text[i] >= 0x20 && text[i] < 0x7f
	}
	if !clean {
		text = strings.Map(func(c rune) rune {
			if c < 0x20 || c >= 0x7f {
				return '?'
			}
			return c
		}, text)
	}
	return text[:min(len(text), longest)]
}

// probes are open without credentials, because container orchestrators have none.
func isProbe(op *transcode.Operation) bool {
	return op != nil && (op.RPC == orchv1.ServerService_HealthCheck_FullMethodName ||
		op.RPC == orchv1.ServerService_PerformReadinessCheck_FullMethodName)
}
