package embeddedmongo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/command"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/pipe"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// Errors of Open.
var (
	// ErrInUse reports that another process, named in the message by its pid, has the directory open.
	ErrInUse = storage.ErrInUse
	// ErrFormat reports a directory that this version did not write. It was left untouched.
	ErrFormat = storage.ErrFormat
)

// ErrClosed reports use of a closed server.
var ErrClosed = errors.New("embedded server closed")

// Server serves one data directory. Its methods are safe for concurrent use.
type Server struct {
	engine  *storage.Engine
	service *command.Service
	log     *slog.Logger
	ctx     context.Context
	cancel  context.CancelFunc

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	wg     sync.WaitGroup // Connections, the sweeper and a compaction.
	once   sync.Once
	err    error

	reclaiming atomic.Bool
	commands   chan struct{} // One for each command in progress without a connection.
}

// Open opens or creates a data directory and starts serving it; connections come through ContextDialer or Serve.
func Open(dir string, opts Options) (*Server, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	e, err := storage.Open(dir, storage.Options{
		FS: opts.FS, NoSync: opts.NoSync, Logger: opts.Logger, CacheBytes: opts.CacheBytes, Clock: opts.Clock,
	})
	if err != nil {
		return nil, fmt.Errorf("open embedded store: %w", err)
	}
	s := &Server{engine: e, service: command.New(e, command.Config{Log: opts.Logger, TestCommands: opts.TestCommands}), log: opts.Logger, conns: map[net.Conn]struct{}{}, commands: make(chan struct{}, maxCommands)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if opts.SweepInterval == 0 {
		opts.SweepInterval = defaultSweepInterval
	}
	if opts.SweepInterval > 0 {
		s.wg.Add(1)
		go s.sweep(opts.SweepInterval)
	}
	if !opts.NoSync {
		s.wg.Go(s.keepSynced)
	}
	return s, nil
}

// syncInterval bounds how long a write with {j: false} is visible and not on disk.
const syncInterval = time.Second

// keepSynced puts writes with {j: false} on disk until the server closes or its log fails.
func (s *Server) keepSynced() {
	t := time.NewTicker(syncInterval)
	defer t.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.engine.Failed():
			return
		case <-t.C:
			if err := s.sync(); err != nil {
				s.log.Error("failed to sync the log", "error", err)
			}
		}
	}
}

func (s *Server) sync() (err error) {
	defer s.engine.Recover(&err)
	return s.engine.Sync()
}

// sweep removes expired documents and ends abandoned cursors until the server closes or its log fails.
func (s *Server) sweep(every time.Duration) {
	defer s.wg.Done()
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.engine.Failed():
			return
		case <-t.C:
			s.service.Expire()
			if err := s.removeExpired(s.ctx); err != nil && s.ctx.Err() == nil {
				s.log.Error("failed to remove expired documents", "error", err)
			}
			if s.engine.ReclaimDue() && s.reclaiming.CompareAndSwap(false, true) {
				s.wg.Go(s.reclaim)
			}
		}
	}
}

// reclaim returns the space of deleted documents.
func (s *Server) reclaim() {
	defer s.reclaiming.Store(false)
	began := time.Now()
	slices, err := s.reclaimed()
	if err != nil {
		if s.ctx.Err() == nil {
			s.log.Error("failed to reclaim the space of deleted documents", "error", err)
		}
		return
	}
	if slices > 0 {
		s.log.Info("reclaimed space of deleted documents", "slices", slices, "took", time.Since(began))
	}
}

func (s *Server) reclaimed() (slices int, err error) {
	defer s.engine.Recover(&err)
	return s.engine.Reclaim(s.ctx)
}

func (s *Server) removeExpired(ctx context.Context) (err error) {
	defer s.engine.Recover(&err)
	_, err = s.engine.Sweep(ctx)
	return err
}

// Dialer makes connections in memory. It satisfies the driver's options.ContextDialer.
type Dialer struct{ s *Server }

// DialContext connects to the server, whatever the address.
func (d Dialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, server := pipe.New()
	if !d.s.accept(server, nil) {
		return nil, errors.Join(ErrClosed, client.Close())
	}
	return client, nil
}

// Watch waits for the end of ctx, and returns an error before that when the write-ahead log failed: every command fails from
// then on. The owner ends, or closes the server and opens the directory again.
func (s *Server) Watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.engine.Failed():
		return fmt.Errorf("serve embedded store: %w", s.engine.Failure())
	}
}

// Writable is nil while the store takes writes. Otherwise it is the error that every write returns: the write-ahead log failed, or
// the disk is nearly full.
func (s *Server) Writable() error { return s.engine.Writable() }

// ContextDialer is for options.Client().SetDialer: the driver then talks to the server without sockets.
func (s *Server) ContextDialer() Dialer { return Dialer{s} }

// URI is the connection string for a driver in this process, together with ContextDialer. No listener exists at its address. The
// driver's retries are off, because a server without failover needs none.
func (s *Server) URI() string {
	return "mongodb://embedded.invalid:27017/?directConnection=true&retryWrites=false&retryReads=false"
}

// User is the name of the one user of a listener.
const User = "orch"

// Access states how the clients of a listener authenticate.
type Access struct {
	// Password is that of User, by SCRAM-SHA-256. Empty admits everybody.
	Password string
	// Optional admits clients without the password too.
	Optional bool
}

func (a Access) accounts() (*command.Accounts, error) {
	if a.Password == "" {
		return nil, nil
	}
	return command.NewAccounts(User, a.Password, a.Optional)
}

// Serve accepts connections until ctx ends or the server closes, then closes the listener and its connections and returns nil.
// With the zero Access there is no authentication: only trusted processes may then reach the listener.
func (s *Server) Serve(ctx context.Context, ln net.Listener, access Access) error {
	accounts, err := access.accounts()
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	stopClosed := context.AfterFunc(s.ctx, cancel)
	defer stopClosed()
	var accepted []net.Conn
	defer func() {
		ln.Close()
		for _, c := range accepted {
			c.Close()
		}
	}()
	for {
		c, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept connections on %s: %w", ln.Addr(), err)
		}
		if !s.accept(c, accounts) {
			return nil
		}
		accepted = s.living(append(accepted, c))
	}
}

// living returns the connections that are still open.
func (s *Server) living(cs []net.Conn) []net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := cs[:0]
	for _, c := range cs {
		if _, ok := s.conns[c]; ok {
			out = append(out, c)
		}
	}
	return out
}

// accept starts serving a connection; on a closed server it closes it and reports false.
func (s *Server) accept(c net.Conn, accounts *command.Accounts) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return false
	}
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	go s.serveConn(c, accounts)
	return true
}

// Close ends all connections, waits for the commands in progress and closes the directory. A second call returns the first's
// result.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		s.closed = true
		for c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.cancel()
		if err := s.end(); err != nil {
			s.err = fmt.Errorf("close embedded store: %w", err)
		}
	})
	return s.err
}

// failedCloseTimeout bounds how long Close waits for operations of a failed store: they may wait for locks that nothing releases.
const failedCloseTimeout = 5 * time.Second

// end closes what the server has. It abandons a failed store whose operations do not end: its directory is then locked until the end of
// the process.
func (s *Server) end() error {
	ended := make(chan error, 1)
	go func() {
		s.wg.Wait()
		s.service.Close()
		ended <- s.engine.Close()
	}()
	select {
	case err := <-ended:
		return err
	case <-s.engine.Failed():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(failedCloseTimeout):
		return s.engine.Failure()
	}
}
