package gateway

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// openEventQuota builds the limiter of events. Without a directory no account has a quota of its own.
func (g *Gateway) openEventQuota() {
	var accounts quota.Account
	if g.directory != nil {
		accounts = g.directory
	}
	g.events = quota.NewEventLimiter(g.cfg.Quota, accounts, clock.System{}, g.deps.Registry)
}

// limitedEvents is a caller that admits as many events as the quota of their account.
type limitedEvents struct {
	rpc.Caller
	limiter *quota.EventLimiter
}

// Call implements rpc.Caller.
func (c limitedEvents) Call(ctx context.Context, method string, in proto.Message) (proto.Message, rpc.Reply, error) {
	if r, ok := in.(*orchv1.CreateEventsRequest); ok {
		if err := c.limiter.Admit(request.OutgoingAccount(ctx), len(r.GetEvents())); err != nil {
			return nil, rpc.Reply{}, err
		}
	}
	return c.Caller.Call(ctx, method, in)
}
