// Package standalone runs Orch in one process: the three services, the embedded broker and the embedded store.
//
//	data directory ──► embedded NATS ──► broker ───────────┬────────────────┐
//	        └────────► embedded store ──► orchestration ───┤                │
//	                                          ▲            ▼                ▼
//	                        client ──► gateway (calls in memory)  ──► hooks (in memory)
//
// This package contains no domain logic: it constructs the parts in dependency order and runs them. The same parts run
// as separate processes with the same settings.
//
// A server on fresh data without a named vocabulary is undecided. The first write decides: its vocabulary is written into
// the data directory, and the parts start again with it, as after a restart. Clients wait meanwhile.
package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/orch-project/orch/pkg/quickstart"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway"
	"github.com/orch-project/orch/services/hooks"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// Config holds the settings of a single binary: those of the services and the data directory.
type Config struct {
	// Vocabulary replaces that of the services' settings.
	Vocabulary vocabulary.Choice `env:"ORCH_VOCABULARY" desc:"The names that the server uses: orch, or prefect for Prefect's clients. The default is the vocabulary of the data; on fresh data the first client that writes decides."`

	DataDir        string `env:"ORCH_DATA_DIR" desc:"The data directory; the default is below the user's home."`
	InternalListen string `env:"ORCH_INTERNAL_LISTEN" envDefault:"127.0.0.1:9400" desc:"The address of metrics, profiles and health, or none."`
	StoreCache     int64  `env:"ORCH_STORE_CACHE" envDefault:"0" desc:"The memory in bytes for decompressed blocks of the embedded store. 0 means 8 MiB. More spares processor time when lists and charts read many old documents."`
	UnsafeNoSync   bool   `env:"ORCH_UNSAFE_NO_SYNC" envDefault:"false" desc:"Acknowledge writes before they are synced to disk, so a power failure loses acknowledged data. For tests only."`
	Gateway        gateway.Config
	Hooks          hooks.Config
	Orchestration  orchestration.Config
	Logging        telemetry.Logging
	Tracing        tracing.Settings
}

// Validate implements config.Validator.
func (c *Config) Validate() error {
	var cache error
	if c.StoreCache < 0 {
		cache = fmt.Errorf("ORCH_STORE_CACHE is %d, want a number of bytes", c.StoreCache)
	}
	return errors.Join(cache, c.Gateway.Validate(), c.Hooks.Validate(), c.Orchestration.Validate())
}

// named returns the vocabulary that the settings name, or Undecided. Code may name Prefect in the gateway's settings alone.
func (c *Config) named() vocabulary.Vocabulary {
	if c.Gateway.Vocabulary == vocabulary.Prefect {
		return vocabulary.Prefect
	}
	return c.Vocabulary.Vocabulary()
}

// Server is a single binary's server.
type Server struct {
	cfg      Config
	version  string
	log      *slog.Logger
	listener *gateway.Listener

	mu       sync.Mutex
	instance *instance
	decided  bool   // A write decided, and the instance with the vocabulary does not exist yet.
	restart  func() // Ends the running instance.
}

// New opens the data directory and the addresses, and wires the parts. The caller either runs it or closes it.
func New(ctx context.Context, cfg Config, version string, log *slog.Logger) (_ *Server, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err // Before New opens or creates anything.
	}
	if cfg.DataDir == "" {
		if cfg.DataDir, err = datadir.Default(); err != nil {
			return nil, err
		}
	}
	s := &Server{cfg: cfg, version: version, log: log}
	if s.listener, err = gateway.Listen(cfg.Gateway.Listen, s.decide, log); err != nil {
		return nil, err
	}
	if s.instance, err = newInstance(ctx, cfg, version, s.listener, log); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	return s, nil
}

// decide marks the data directory with the vocabulary of the first client that writes, and ends the undecided instance.
func (s *Server) decide(ctx context.Context, vocab vocabulary.Vocabulary) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.instance.dir.Mark(vocab); err != nil {
		return fmt.Errorf("decide the vocabulary: %w", err)
	}
	s.log.InfoContext(ctx, "the first client that writes has decided the vocabulary", "vocabulary", vocab.String())
	s.decided = true
	s.restart()
	return nil
}

// Addr is the address of the API, the dashboard and the webhooks.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// InternalURL is the address of metrics, profiles and health; empty if there is none.
func (s *Server) InternalURL() string { return s.current().internalURL() }

// OwnerKey is the API key of the server's owner. It is empty except on the first start with API keys.
func (s *Server) OwnerKey() string { return s.current().ownerKey }

// OwnerKeyFile is the path of the file with that key, which only the server's user reads; empty without a key.
func (s *Server) OwnerKeyFile() string {
	current := s.current()
	if current.ownerKey == "" {
		return ""
	}
	return current.dir.OwnerKeyFile()
}

// Vocabulary is the vocabulary of the data, Undecided until a client writes.
func (s *Server) Vocabulary() vocabulary.Vocabulary { return s.current().dir.Vocabulary }

// Credential is what the server requires of its clients.
func (s *Server) Credential() quickstart.Credential { return s.cfg.Gateway.Credential() }

// DataDir is the path of the data directory.
func (s *Server) DataDir() string { return s.cfg.DataDir }

func (s *Server) current() *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instance
}

// Run serves until the context ends, then drains and closes everything.
func (s *Server) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.listener.Close()) }()
	for {
		running, restart := context.WithCancel(ctx)
		s.mu.Lock()
		s.restart = restart
		s.mu.Unlock()
		err := s.current().run(running)
		restart()
		s.mu.Lock()
		decided := s.decided
		s.decided = false
		s.mu.Unlock()
		if err != nil || !decided || ctx.Err() != nil {
			return err
		}
		if err := s.replace(ctx); err != nil {
			return err
		}
	}
}

// replace starts an instance with the vocabulary that the data directory has now, on the same addresses.
func (s *Server) replace(ctx context.Context) error {
	cfg := s.cfg
	cfg.InternalListen = s.instance.internalListen(cfg.InternalListen)
	next, err := newInstance(ctx, cfg, s.version, s.listener, s.log)
	if err != nil {
		return fmt.Errorf("start with the decided vocabulary: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next.ownerKey = s.instance.ownerKey
	s.instance = next
	return nil
}

// Close releases what New acquired, for a server that never ran.
func (s *Server) Close(ctx context.Context) error {
	return errors.Join(s.listener.Close(), s.current().close(ctx))
}
