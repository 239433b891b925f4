package hooks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/tlsfiles"
)

// Bounds of one connection.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second // A whole request.
	writeTimeout      = time.Minute      // A whole answer, counted from the end of the request's header.
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	shutdownTimeout   = 30 * time.Second
)

// server is a run.Worker that serves the handler on an address.
type server struct {
	ln      net.Listener
	handler http.Handler
	log     *slog.Logger
}

// listen serves TLS with files, and plaintext without. A client certificate is checked when there is one: senders have none.
func listen(address string, files *tlsfiles.Files, handler http.Handler, log *slog.Logger) (*server, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if files != nil {
		ln = tls.NewListener(ln, files.Server(tls.VerifyClientCertIfGiven))
	}
	return &server{ln: ln, handler: handler, log: log}, nil
}

// Name implements run.Worker.
func (s *server) Name() string { return "hooks" }

// Run serves until ctx ends; then it finishes what is in flight.
func (s *server) Run(ctx context.Context) error {
	h := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.log.InfoContext(ctx, "listening", "address", s.ln.Addr().String())
	served := make(chan error, 1)
	go func() { served <- h.Serve(s.ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve HTTP on %s: %w", s.ln.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(run.Grace(ctx), shutdownTimeout)
	defer cancel()
	err := h.Shutdown(grace)
	if err != nil {
		err = errors.Join(fmt.Errorf("finish the requests in flight: %w", err), h.Close())
	}
	<-served //nolint:errcheck // It ended because its context did.
	return err
}
