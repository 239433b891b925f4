package gateway

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/ratelimit"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// openEventQuota builds the limiter of events. Without a directory no account has a quota of its own, and without a broker the quota counts
// in this process alone.
func (g *Gateway) openEventQuota() error {
	var accounts quota.Account
	if g.directory != nil {
		accounts = g.directory
	}
	options := ratelimit.Options{Clock: clock.System{}}
	if g.deps.Broker != nil {
		ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
		defer cancel()
		store, err := ratelimit.OpenStore(ctx, g.deps.Broker)
		if err != nil {
			return fmt.Errorf("open rate limits: %w", err)
		}
		options = ratelimit.Options{States: store, Clock: store}
	}
	g.rates = ratelimit.New(options)
	g.events = quota.NewEventLimiter(g.cfg.Quota, accounts, g.rates, g.deps.Registry)
	return nil
}

// limitedEvents is a caller that admits as many events as the quota of their account.
type limitedEvents struct {
	rpc.Caller
	limiter *quota.EventLimiter
}

// Call implements rpc.Caller.
func (c limitedEvents) Call(ctx context.Context, method string, in proto.Message) (proto.Message, rpc.Reply, error) {
	if r, ok := in.(*orchv1.CreateEventsRequest); ok {
		if err := c.limiter.Admit(ctx, request.OutgoingAccount(ctx), len(r.GetEvents())); err != nil {
			return nil, rpc.Reply{}, err
		}
	}
	return c.Caller.Call(ctx, method, in)
}
