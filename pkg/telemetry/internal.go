package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/orch-project/orch/pkg/run"
)

// Internal serves metrics, profiles and health to operators.
type Internal struct {
	ln     net.Listener
	server *http.Server
}

// NewInternal listens on the address. A nil health disables /health and /ready.
func NewInternal(address string, registry *prometheus.Registry, health *run.Health) (*Internal, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on internal address %s: %w", address, err)
	}
	return &Internal{ln: ln, server: &http.Server{
		Handler:           internalHandler(registry, health),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
	}}, nil
}

func internalHandler(registry *prometheus.Registry, health *run.Health) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry, EnableOpenMetrics: true}))
	if health != nil {
		mux.Handle("GET /health", health.LiveHandler())
		mux.Handle("GET /ready", health.ReadyHandler())
	}
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// Name implements run.Worker.
func (i *Internal) Name() string { return "internal" }

// Addr is the listen address.
func (i *Internal) Addr() net.Addr { return i.ln.Addr() }

// Run implements run.Worker.
func (i *Internal) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = i.server.Close() }) // In-flight requests need no drain.
	defer stop()
	if err := i.server.Serve(i.ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve internal address: %w", err)
	}
	return nil
}

// Close releases the address of a server that was never run.
func (i *Internal) Close() error { return i.ln.Close() }
