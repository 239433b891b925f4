package embeddednats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ErrDirInUse is returned by Start when another server, of this process or of another one, uses the directory.
var ErrDirInUse = errors.New("embeddednats: the directory is in use by another server")

// Server is a running nats-server. It is safe for concurrent use.
type Server struct {
	options *server.Options
	timeout time.Duration
	log     *slog.Logger
	unlock  func() error
	close   sync.Once
	err     error

	mu   sync.Mutex
	nats *server.Server // Another one after a recovery.

	closing  chan struct{}
	guarding sync.WaitGroup
}

// Start starts the server and returns when it takes connections and its streams are recovered.
func Start(o Options) (*Server, error) {
	so, err := o.serverOptions()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("embeddednats: creating the directory: %w", err)
	}
	unlock, err := lockFile(filepath.Join(o.Dir, "LOCK"))
	if err != nil {
		return nil, fmt.Errorf("embeddednats: locking %s: %w", o.Dir, err)
	}
	damage, err := Verify(context.Background(), o.Dir)
	if err == nil && len(damage) > 0 {
		err = fmt.Errorf("%w in %s: %s", ErrDamaged, o.Dir, damage[0])
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("embeddednats: %w", err), unlock())
	}
	s := &Server{options: so, timeout: o.StartTimeout, log: o.Logger, unlock: unlock, closing: make(chan struct{})}
	if s.timeout == 0 {
		s.timeout = 30 * time.Second
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if so.Port == server.RANDOM_PORT && !so.DontListen { // A recovery takes the same address.
		if addr, ok := s.nats.Addr().(*net.TCPAddr); ok {
			so.Port = addr.Port
		}
	}
	s.guarding.Go(s.guard)
	return s, nil
}

// start starts a nats-server on the directory.
func (s *Server) start() error {
	options := s.options.Clone() // The server fills in its own.
	ns, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("embeddednats: configuring the server: %w", err)
	}
	fatal := make(chan string, 1)
	ns.SetLogger(&logAdapter{to: s.log.With("component", "nats-server"), fatal: fatal}, false, false)
	s.mu.Lock()
	s.nats = ns
	s.mu.Unlock()
	ns.Start()

	for deadline := time.Now().Add(s.timeout); !ns.ReadyForConnections(25 * time.Millisecond); {
		select {
		case reason := <-fatal: // A taken port, for one: it will never be ready.
			return fmt.Errorf("embeddednats: starting the server: %s", reason)
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("embeddednats: not ready after %s", s.timeout)
		}
	}
	select {
	case reason := <-fatal:
		return fmt.Errorf("embeddednats: starting the server: %s", reason)
	default:
	}
	if !ns.JetStreamEnabled() {
		return errors.New("embeddednats: JetStream did not start")
	}
	return exportJetStreamInfo(ns)
}

func (s *Server) current() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nats
}

// exportJetStreamInfo lets ordinary clients ask for the server's JetStream settings, which only the system account may
// by default. The answer holds settings and counters, no message.
func exportJetStreamInfo(ns *server.Server) error {
	const subject = "$SYS.REQ.SERVER.PING.JSZ"
	system := ns.SystemAccount()
	if system == nil {
		return errors.New("embeddednats: the server has no system account")
	}
	if err := system.AddServiceExportWithResponse(subject, server.Streamed, nil); err != nil {
		return fmt.Errorf("embeddednats: exporting %s: %w", subject, err)
	}
	if err := ns.GlobalAccount().AddServiceImport(system, subject, subject); err != nil {
		return fmt.Errorf("embeddednats: importing %s: %w", subject, err)
	}
	return nil
}

// InProcess connects within the process, without a socket. The provider stays valid until Close.
func (s *Server) InProcess() nats.InProcessConnProvider { return s }

// InProcessConn implements nats.InProcessConnProvider.
func (s *Server) InProcessConn() (net.Conn, error) { return s.current().InProcessConn() }

// ClientURL is the URL for clients in other processes; empty without Options.Listen.
func (s *Server) ClientURL() string {
	ns := s.current()
	if ns.Addr() == nil {
		return ""
	}
	return ns.ClientURL()
}

// SyncAlways tells whether every message is flushed to the disk before it is acknowledged, as the running server
// has it.
func (s *Server) SyncAlways() bool {
	cfg := s.current().JetStreamConfig()
	return cfg != nil && cfg.SyncAlways
}

// Close stops the server, waits until its stores are closed and frees the directory. Further calls return the same.
func (s *Server) Close() error {
	s.close.Do(func() {
		close(s.closing)
		s.guarding.Wait()
		if ns := s.current(); ns != nil {
			last, err := reachedBy(ns)
			ns.Shutdown()
			ns.WaitForShutdown()
			if err == nil { // Otherwise JetStream was not running.
				err = last.write(s.options.StoreDir)
			}
			if err != nil {
				s.log.Warn("failed to note how far streams have come", "error", err)
			}
		}
		s.err = s.unlock()
	})
	return s.err
}
