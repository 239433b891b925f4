package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/run"
)

// Timeouts of one connection.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = time.Minute     // A whole request.
	writeTimeout      = 2 * time.Minute // A whole response, from the end of the request's header.
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	shutdownTimeout   = 30 * time.Second
	successorTimeout  = 30 * time.Second // A successor that is not ready by then serves nevertheless.
	readyTick         = 2 * time.Millisecond
)

var errDraining = errors.New("the server is shutting down")

// Run serves until ctx ends. Then readiness turns false, requests in flight finish, and Run returns nil.
func (g *Gateway) Run(ctx context.Context) error {
	defer g.follow(ctx)()
	if g.listener.awaitsSuccessor() {
		g.awaitReady(ctx)
	}
	g.log.InfoContext(ctx, "listening", "address", g.Addr().String())
	g.listener.attach(g)
	var err error
	select {
	case err = <-g.listener.served:
		err = fmt.Errorf("serve HTTP on %s: %w", g.Addr(), err)
	case <-ctx.Done():
		g.draining.Store(true)
		grace, cancel := context.WithTimeout(run.Grace(ctx), shutdownTimeout)
		defer cancel()
		sockets := make(chan error, 1)
		go func() { sockets <- g.closeSockets(grace) }()
		err = errors.Join(g.listener.detach(grace, g), <-sockets)
	}
	return errors.Join(err, g.Close())
}

// awaitReady waits until the gateway is ready, or ctx ends: requests wait already, and must not get the 503 of a start.
func (g *Gateway) awaitReady(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, successorTimeout)
	defer cancel()
	tick := time.NewTicker(readyTick)
	defer tick.Stop()
	for g.Ready() != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// follow keeps the directory, the maintenance, the dashboard's sessions, the refusals and the rates current until the returned function is
// called. It outlives ctx, so that requests which drain are still authorized.
func (g *Gateway) follow(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var followers sync.WaitGroup
	if g.directory != nil {
		followers.Go(func() {
			if err := g.directory.Run(ctx); err != nil {
				g.log.WarnContext(ctx, "failed to follow the updates of the directory", "error", err)
			}
		})
	}
	followers.Go(func() {
		if err := g.maintenance.Run(ctx); err != nil {
			g.log.WarnContext(ctx, "failed to follow the maintenance", "error", err)
		}
	})
	followers.Go(func() {
		if err := g.sessions.Run(ctx); err != nil {
			g.log.WarnContext(ctx, "failed to follow the sessions of the dashboard", "error", err)
		}
	})
	followers.Go(func() {
		if err := g.denied.Run(ctx); err != nil {
			g.log.WarnContext(ctx, "failed to follow the refusals of other gateways", "error", err)
		}
	})
	followers.Go(func() {
		if err := g.rates.Run(ctx); err != nil {
			g.log.WarnContext(ctx, "failed to return tokens of rate limits", "error", err)
		}
	})
	return func() {
		cancel()
		followers.Wait()
	}
}
