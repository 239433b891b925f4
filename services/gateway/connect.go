package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/directory"
	wire "github.com/orch-project/orch/pkg/maintenance"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/tlsfiles"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/authn"
	"github.com/orch-project/orch/services/gateway/internal/hooksproxy"
	"github.com/orch-project/orch/services/gateway/internal/maintenance"
)

// openTimeout bounds the wait for the broker when New opens the directory.
const openTimeout = 10 * time.Second

// errNoBroker reports that key authentication needs the directory, which needs a broker.
var errNoBroker = errors.New("ORCH_AUTH=keys needs a broker")

// openDirectory opens the in-memory directory of accounts, roles and keys.
func (g *Gateway) openDirectory() error {
	if g.deps.Broker == nil {
		if g.cfg.mode() == authn.ByKey {
			return errNoBroker
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	bucket, err := g.deps.Broker.KeyValue(ctx, directory.Bucket, broker.KVConfig{Description: "who may do what, for gateway and hooks"})
	if err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	g.directory = directory.New(directory.Options{Bucket: bucket, Log: g.log})
	return nil
}

// openMaintenance reads whether the server is in maintenance, so that no request precedes the answer.
func (g *Gateway) openMaintenance() error {
	var bucket *broker.KV
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	if g.deps.Broker != nil {
		var err error
		if bucket, err = wire.Open(ctx, g.deps.Broker); err != nil {
			return err
		}
	}
	g.maintenance = maintenance.New(bucket, clock.System{})
	orchv1.RegisterMaintenanceServiceServer(g.infoService, g.maintenance)
	return g.maintenance.Load(ctx)
}

// connect dials the services that run in other processes.
func (g *Gateway) connect() error {
	if err := g.openDirectory(); err != nil {
		return err
	}
	files, err := tlsfiles.Load(g.cfg.TLS, tlsfiles.Options{Log: g.log})
	if err != nil {
		return err
	}
	g.caller = g.deps.Caller
	if g.caller == nil {
		conn, err := rpc.Dial(g.cfg.OrchestrationAddr, rpc.DialOptions{
			Credentials: rpc.ClientCredentials(files, g.log), Log: g.log.With("peer", "orchestration"),
		})
		if err != nil {
			return fmt.Errorf("connect to the orchestration service: %w", err)
		}
		g.closers = append(g.closers, func() { _ = conn.Close() }) // No call is in flight at this point.
		g.caller = rpc.NewRemote(conn)
		g.ready = append(g.ready, func() error {
			if err := conn.Ready(); err != nil {
				return fmt.Errorf("connect to the orchestration service: %w", err)
			}
			return nil
		})
	}
	g.hooks = g.deps.Hooks
	if g.hooks == nil {
		proxy, err := hooksproxy.New(g.cfg.HooksAddr, files, g.log)
		if err != nil {
			return err
		}
		g.closers = append(g.closers, proxy.Close)
		g.hooks = proxy
	}
	return nil
}
