package gateway

import (
	"context"
	"fmt"
	"net/http"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/requestlog"
	"github.com/orch-project/orch/services/gateway/internal/stream"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
)

// openSockets builds the websocket server, which needs the broker.
func (g *Gateway) openSockets() {
	if g.deps.Broker == nil {
		return
	}
	g.sockets = stream.New(stream.Options{
		Admission:    g.deps.Admission,
		Caller:       g.caller,
		Broker:       g.deps.Broker,
		Vocabulary:   g.cfg.Vocabulary,
		Refused:      g.denied,
		Events:       g.events,
		Max:          g.cfg.MaxSockets,
		MaxOfAccount: g.cfg.accountSockets(),
		Log:          g.log,
	})
}

// closeSockets closes the open websockets gracefully.
func (g *Gateway) closeSockets(ctx context.Context) error {
	if g.sockets == nil {
		return nil
	}
	if err := g.sockets.Close(ctx); err != nil {
		return fmt.Errorf("close websockets: %w", err)
	}
	return nil
}

// serveSocket serves a websocket request. The websocket's own handshake checks credentials, so an unknown path returns
// 404 to every caller.
func (g *Gateway) serveSocket(w http.ResponseWriter, r *http.Request, path address.WorkspacePath) {
	if g.sockets == nil {
		requestlog.SetRoute(w, transcode.Unmatched)
		transcode.NotFound(w)
		return
	}
	route, ok := g.sockets.Route(path.URL.Path)
	if !ok {
		requestlog.SetRoute(w, transcode.Unmatched)
		transcode.NotFound(w)
		return
	}
	requestlog.SetRoute(w, route)
	scope := g.authorizer.Scope(w, r, path)
	client, err := g.authorizer.SocketClient(r, scope, g.sockets.Scopes(route)[0])
	if err != nil {
		transcode.WriteError(w, rpc.HTTPError(err))
		return
	}
	err = g.sockets.Serve(w, r, route, client, func(token string, legacy bool, permission string) (request.Info, error) {
		info, err := g.authorizer.AdmitSocket(r, scope, token, legacy, permission)
		if err == nil {
			err = g.decideBySocket(r, permission)
		}
		return info, err
	})
	if err != nil {
		transcode.WriteError(w, rpc.HTTPError(err))
	}
}
