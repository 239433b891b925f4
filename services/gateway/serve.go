package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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
)

var errDraining = errors.New("the server is shutting down")

// Run serves until ctx ends. Then readiness turns false, requests in flight finish, and Run returns nil.
func (g *Gateway) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:           g.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}
	defer g.follow(ctx)()
	g.log.InfoContext(ctx, "listening", "address", g.ln.Addr().String())
	served := make(chan error, 1)
	go func() { served <- server.Serve(g.ln) }()
	var err error
	select {
	case err = <-served:
		err = fmt.Errorf("serve HTTP on %s: %w", g.ln.Addr(), err)
	case <-ctx.Done():
		g.draining.Store(true)
		grace, cancel := context.WithTimeout(run.Grace(ctx), shutdownTimeout)
		defer cancel()
		sockets := make(chan error, 1)
		go func() { sockets <- g.closeSockets(grace) }()
		err = server.Shutdown(grace)
		if err = errors.Join(err, <-sockets); err != nil {
			err = errors.Join(fmt.Errorf("drain requests in flight: %w", err), server.Close())
		}
		if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
	}
	_ = g.Close() // The listener is closed already.
	return err
}

// follow keeps the directory and the dashboard's sessions current until the returned function is called, so requests
// that drain after the end of ctx are still authorized.
func (g *Gateway) follow(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var followers sync.WaitGroup
	if g.known != nil {
		followers.Go(func() {
			if err := g.known.Run(ctx); err != nil {
				g.log.WarnContext(ctx, "follow directory updates", "error", err)
			}
		})
	}
	followers.Go(func() {
		if err := g.sessions.Run(ctx); err != nil {
			g.log.WarnContext(ctx, "follow dashboard sessions", "error", err)
		}
	})
	return func() {
		cancel()
		followers.Wait()
	}
}
