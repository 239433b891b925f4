package gateway

import (
	"context"
	"fmt"
	"net/http"

	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
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
		Caller:       g.caller,
		Broker:       g.deps.Broker,
		Vocabulary:   g.cfg.Vocabulary,
		Refused:      g.denied,
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
	info := g.info(w, r, path.Prefix)
	client, err := g.socketClient(r, info, path, g.sockets.Scopes(route)[0])
	if err != nil {
		transcode.WriteError(w, rpc.HTTPError(err))
		return
	}
	err = g.sockets.Serve(w, r, route, client, func(token string, legacy bool, scope string) (request.Info, error) {
		return g.admitSocket(r, info, path, token, legacy, scope)
	})
	if err != nil {
		transcode.WriteError(w, rpc.HTTPError(err))
	}
}

// socketClient returns what the request of a websocket proves. A wrong Authorization header is refused before the upgrade. A
// client without that header, or without the permission, authenticates by its first message.
func (g *Gateway) socketClient(r *http.Request, info request.Info, path address.WorkspacePath, scope string) (stream.Client, error) {
	client := stream.Client{Address: info.Peer}
	if g.mode != authn.None && r.Header.Get("Authorization") == "" {
		return client, nil
	}
	info, err := g.authorizeSocket(r, info, path, "", true, scope)
	switch {
	case err == nil:
		client.Account = info.Account
	case rpc.HTTPError(err).GetStatus() == http.StatusUnauthorized:
		return client, err
	}
	return client, nil
}

// admitSocket is authorizeSocket for a client that may use the server: it decides the vocabulary, or expects the server's.
func (g *Gateway) admitSocket(
	r *http.Request, info request.Info, path address.WorkspacePath, token string, legacy bool, scope string,
) (request.Info, error) {
	info, err := g.authorizeSocket(r, info, path, token, legacy, scope)
	if err == nil {
		err = g.refuse(r, info, func(string) string { return g.cfg.Vocabulary.ShortRefusal() })
	}
	if err == nil {
		err = g.decideBySocket(r, scope)
	}
	return info, err
}

// authorizeSocket returns the caller of a websocket for a token (empty: none) and a scope. A legacy websocket cannot send a
// token; there the request's header counts.
func (g *Gateway) authorizeSocket(
	r *http.Request, info request.Info, path address.WorkspacePath, token string, legacy bool, scope string,
) (request.Info, error) {
	need, err := needOf(nil, path, nil)
	if err != nil {
		return info, err
	}
	need.Scope = scope
	info.Account, info.Workspace = need.Account, need.Workspace
	switch {
	case legacy:
		err = authn.LegacySocketError(g.authorize(r, &info, need), r.Header)
	case g.mode == authn.ByKey:
		err = authn.SocketError(g.authorizeToken(r, auth.KeyOfToken(token), &info, need), token)
	default:
		if err = g.guard.Token(token); err == nil {
			err = g.admitWithoutKey(r, need)
		}
	}
	return info, err
}
