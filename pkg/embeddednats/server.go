package embeddednats

import (
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
	nats   *server.Server
	unlock func() error
	close  sync.Once
	err    error
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
	s := &Server{unlock: unlock}
	if err := s.start(so, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) start(so *server.Options, o Options) error {
	ns, err := server.NewServer(so)
	if err != nil {
		return fmt.Errorf("embeddednats: configuring the server: %w", err)
	}
	logger := o.Logger
	if logger == nil {
		logger = slog.Default()
	}
	fatal := make(chan string, 1)
	ns.SetLogger(&logAdapter{to: logger.With("component", "nats-server"), fatal: fatal}, false, false)
	s.nats = ns
	ns.Start()

	timeout := o.StartTimeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	for deadline := time.Now().Add(timeout); !ns.ReadyForConnections(25 * time.Millisecond); {
		select {
		case reason := <-fatal: // A taken port, for one: it will never be ready.
			return fmt.Errorf("embeddednats: starting the server: %s", reason)
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("embeddednats: not ready after %s", timeout)
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
func (s *Server) InProcessConn() (net.Conn, error) { return s.nats.InProcessConn() }

// ClientURL is the URL for clients in other processes; empty without Options.Listen.
func (s *Server) ClientURL() string {
	if s.nats.Addr() == nil {
		return ""
	}
	return s.nats.ClientURL()
}

// SyncAlways tells whether every message is flushed to the disk before it is acknowledged, as the running server
// has it.
func (s *Server) SyncAlways() bool {
	cfg := s.nats.JetStreamConfig()
	return cfg != nil && cfg.SyncAlways
}

// Close stops the server, waits until its stores are closed and frees the directory. Further calls return the same.
func (s *Server) Close() error {
	s.close.Do(func() {
		if s.nats != nil {
			s.nats.Shutdown()
			s.nats.WaitForShutdown()
		}
		s.err = s.unlock()
	})
	return s.err
}
