package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/run"
)

// Internal serves metrics, profiles and health to operators.
type Internal struct {
	ln     net.Listener
	server *http.Server
}

// InternalSettings are the settings of the internal address, the same in all services. The tags are read by package config.
type InternalSettings struct {
	Hosts    []string `env:"ORCH_INTERNAL_HOSTS" desc:"Host names by which metrics, profiles and health are reached, in addition to localhost and IP addresses."`
	Profiles bool     `env:"ORCH_PROFILES" envDefault:"false" desc:"Serve profiles below /debug/pprof/ of the internal address. They show parts of the memory."`
}

// Options returns what the settings mean for NewInternal.
func (s InternalSettings) Options() []InternalOption {
	options := []InternalOption{AllowHosts(s.Hosts...)}
	if !s.Profiles {
		options = append(options, WithoutProfiles())
	}
	return options
}

// InternalOption changes what NewInternal serves.
type InternalOption func(*internalOptions)

type internalOptions struct {
	hosts    map[string]bool
	profiles bool
}

// AllowHosts accepts requests for these host names, in addition to localhost and IP addresses.
func AllowHosts(names ...string) InternalOption {
	return func(o *internalOptions) {
		for _, name := range names {
			o.hosts[clientaddr.Hostname(strings.TrimSpace(name))] = true
		}
	}
}

// WithoutProfiles serves no profiles.
func WithoutProfiles() InternalOption { return func(o *internalOptions) { o.profiles = false } }

const (
	// internalReadTimeout bounds how long a request may take to arrive.
	internalReadTimeout = 10 * time.Second
	// internalWriteTimeout bounds a response, but for profiles, which extend it by their duration.
	internalWriteTimeout = time.Minute
	// longestProfile bounds the duration of a profile in seconds.
	longestProfile = 120
	// internalMaxHeader bounds the header of a request in bytes.
	internalMaxHeader = 64 << 10
)

// NewInternal listens on the address. A nil health disables /health and /ready.
func NewInternal(address string, registry *prometheus.Registry, health *run.Health, options ...InternalOption) (*Internal, error) {
	o := internalOptions{hosts: map[string]bool{}, profiles: true}
	for _, option := range options {
		option(&o)
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on internal address %s: %w", address, err)
	}
	return &Internal{ln: ln, server: &http.Server{
		Handler:           o.checkHost(o.handler(registry, health)),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       internalReadTimeout,
		WriteTimeout:      internalWriteTimeout,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    internalMaxHeader,
	}}, nil
}

// checkHost refuses hosts that may be names of a stranger: a web page of such a name that now points to this machine reads what a
// browser of the operator reaches.
func (o internalOptions) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := clientaddr.Hostname(r.Host)
		if _, err := netip.ParseAddr(name); err != nil && !clientaddr.Loopback(name) && !o.hosts[name] {
			http.Error(w, "This address does not answer to that Host; ORCH_INTERNAL_HOSTS can name it.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (o internalOptions) handler(registry *prometheus.Registry, health *run.Health) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry, EnableOpenMetrics: true}))
	if health != nil {
		mux.Handle("GET /health", health.LiveHandler())
		mux.Handle("GET /ready", health.ReadyHandler())
	}
	if !o.profiles {
		return mux
	}
	profiles := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", func(w http.ResponseWriter, r *http.Request) {
		if seconds, err := strconv.ParseFloat(r.FormValue("seconds"), 64); err == nil && !(seconds <= longestProfile) {
			http.Error(w, fmt.Sprintf("A profile takes at most %d seconds.", longestProfile), http.StatusBadRequest)
			return
		}
		profiles.ServeHTTP(w, r)
	})
	profiles.HandleFunc("/debug/pprof/", pprof.Index)
	profiles.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	profiles.HandleFunc("/debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("/debug/pprof/trace", pprof.Trace)
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
