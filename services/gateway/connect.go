package gateway

import (
	"fmt"

	"google.golang.org/grpc/connectivity"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/forward"
)

// connect reaches the services that are not in this process.
func (g *Gateway) connect() error {
	g.caller = g.deps.Caller
	if g.caller == nil {
		conn, err := rpc.Dial(g.cfg.OrchestrationAddr)
		if err != nil {
			return fmt.Errorf("connect to the orchestration service: %w", err)
		}
		g.closers = append(g.closers, func() { _ = conn.Close() }) // Nothing in flight is left.
		g.caller = rpc.NewRemote(conn)
		conn.Connect()
		g.ready = append(g.ready, func() error {
			state := conn.GetState()
			if state == connectivity.Ready {
				return nil
			}
			if state == connectivity.Idle {
				conn.Connect()
			}
			return fmt.Errorf("the connection to the orchestration service is %s", state)
		})
	}
	g.hooks = g.deps.Hooks
	if g.hooks == nil {
		proxy, err := forward.New(g.cfg.HooksAddr, g.log)
		if err != nil {
			return err
		}
		g.closers = append(g.closers, proxy.Close)
		g.hooks = proxy
	}
	return nil
}
