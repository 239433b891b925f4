package gateway

import (
	"context"
	"net/http"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/access"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/refusals"
	"github.com/orch-project/orch/services/gateway/internal/stream"
)

// decides reports whether a request decides the vocabulary of an undecided server, and which one: it writes, and its
// sender may call the operation.
func (g *Gateway) decides(r *http.Request) (vocabulary.Vocabulary, bool) {
	if g.cfg.Vocabulary.Decided() || !g.writes(r) {
		return vocabulary.Undecided, false
	}
	return vocabulary.OfClient(r.Header), true
}

// writes reports whether a request of an admitted sender writes. A webhook exists only after a write, so a delivery is
// none. A websocket whose token is in its first message writes after that message; see admitSocket.
func (g *Gateway) writes(r *http.Request) bool {
	if below(r.URL.Path, "/hooks") || g.guard.CheckHostAndOrigin(r) != nil {
		return false
	}
	if !below(r.URL.Path, "/api") {
		return g.site.Writes(r)
	}
	path, ok := address.Split(r.URL)
	switch {
	case !ok:
		return false
	case stream.Upgrade(r):
		return g.socketWrites(r, path)
	}
	op, vars := g.api.Find(r.Method, path.URL)
	if op == nil || op.ReadOnly {
		return false
	}
	_, err := g.authorizer.Admit(r, g.authorizer.Scope(nil, r, path), op, vars)
	return err == nil
}

// socketWrites is writes for a websocket whose request authenticates it.
func (g *Gateway) socketWrites(r *http.Request, path address.WorkspacePath) bool {
	if g.sockets == nil {
		return false
	}
	template, ok := g.sockets.Route(path.URL.Path)
	if !ok || !g.sockets.Writes(template) {
		return false
	}
	return g.authorizer.SocketAllowed(r, g.authorizer.Scope(nil, r, path), g.sockets.Scopes(template)[0])
}

// decideBySocket decides by a websocket that its first message has authenticated. The gateway then closes it, and the
// client connects to the successor.
func (g *Gateway) decideBySocket(r *http.Request, scope string) error {
	if g.cfg.Vocabulary.Decided() || access.ReadOnly(scope) {
		return nil
	}
	return g.listener.choose(context.WithoutCancel(r.Context()), vocabulary.OfClient(r.Header))
}

// recorder is a caller that records refused events of clients which expect another vocabulary.
type recorder struct {
	rpc.Caller
	refused *refusals.Log
}

// Call implements rpc.Caller.
func (c recorder) Call(ctx context.Context, method string, in proto.Message) (proto.Message, rpc.Reply, error) {
	out, reply, err := c.Caller.Call(ctx, method, in)
	if err == nil {
		return out, reply, nil
	}
	for _, f := range rpc.HTTPError(err).GetFieldErrors().GetErrors() {
		if f.GetType() != wire.TypeVocabulary {
			continue
		}
		md, _ := metadata.FromOutgoingContext(ctx)
		if info, broken := request.Incoming(metadata.NewIncomingContext(ctx, md)); broken == nil {
			c.refused.Add(ctx, info.Workspace, refusals.Refusal{Client: info.UserAgent, Address: refusals.Address(info), Events: true})
		}
		break
	}
	return out, reply, err
}
