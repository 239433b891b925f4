package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
)

// Decide writes the vocabulary of an undecided server into its data, and ends the gateway so that a successor with that
// vocabulary can start. Of concurrent calls the first one decides.
type Decide func(ctx context.Context, vocab vocabulary.Vocabulary) error

// Listener accepts the connections of a gateway. It outlives a gateway whose vocabulary is undecided: the first write
// decides and waits, like every later request, until the successor serves it.
//
//	write ──► decide ──► requests wait ──► gateway drains ──► successor starts ──► requests continue
type Listener struct {
	ln     net.Listener
	server *http.Server
	decide Decide // Nil for a gateway with a vocabulary.
	served chan error

	mu        sync.Mutex
	gateway   *Gateway      // Nil before the first gateway and between two.
	arrived   chan struct{} // Closed when gateway or ended changes.
	successor bool          // A decision was made, and its gateway does not serve yet.
	serving   bool
	closing   bool // The last gateway drains: no decision any more.
	ended     bool
}

// Listen opens an address. decide is nil unless the gateway's vocabulary is undecided. The caller closes the listener.
func Listen(address string, decide Decide, log *slog.Logger) (*Listener, error) {
	ln, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: %w; ORCH_GATEWAY_LISTEN or --listen chooses another address", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	l := &Listener{ln: ln, decide: decide, served: make(chan error, 1), arrived: make(chan struct{})}
	l.server = &http.Server{
		Handler:           l,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return l, nil
}

// Addr is the address that the listener accepts connections on.
func (l *Listener) Addr() net.Addr { return l.ln.Addr() }

// Close refuses the requests that wait and releases the address.
func (l *Listener) Close() error {
	l.mu.Lock()
	serving := l.serving
	l.ended, l.gateway = true, nil
	l.wake()
	l.mu.Unlock()
	if serving {
		return l.server.Close()
	}
	return l.ln.Close()
}

// wake continues the requests that wait. The caller holds mu.
func (l *Listener) wake() {
	close(l.arrived)
	l.arrived = make(chan struct{})
}

// awaitsSuccessor reports whether requests wait for the next gateway.
func (l *Listener) awaitsSuccessor() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.successor
}

// attach serves further requests, and those that wait, with a gateway.
func (l *Listener) attach(g *Gateway) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gateway, l.successor = g, false
	if !l.serving {
		l.serving = true
		go func() { l.served <- l.server.Serve(l.ln) }()
	}
	l.wake()
}

// detach ends the service of a gateway: it returns when the gateway's requests have finished, or ctx. Without a successor
// it closes the listener.
func (l *Listener) detach(ctx context.Context, g *Gateway) error {
	l.mu.Lock()
	successor := l.successor
	l.closing = !successor
	l.mu.Unlock()
	if !successor {
		err := l.server.Shutdown(ctx)
		if err != nil {
			err = errors.Join(fmt.Errorf("drain requests in flight: %w", err), l.server.Close())
		}
		if ended := <-l.served; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
		return err
	}
	drained := make(chan struct{})
	go func() {
		g.requests.Wait()
		close(drained)
	}()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("drain requests in flight: %w", ctx.Err())
	}
}

// ServeHTTP implements http.Handler.
func (l *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for {
		g := l.enter(r.Context())
		if g == nil {
			transcode.WriteError(w, unavailable)
			return
		}
		decided, decides := g.decides(r)
		if !decides {
			defer g.requests.Done()
			g.handler.ServeHTTP(w, r)
			return
		}
		g.requests.Done()
		if err := l.choose(r.Context(), decided); err != nil {
			g.log.ErrorContext(r.Context(), "failed to decide the vocabulary", "error", err)
			transcode.WriteError(w, unavailable)
			return
		}
	}
}

var unavailable = &orchv1.HttpError{
	Status:  http.StatusServiceUnavailable,
	Form:    &orchv1.HttpError_ExceptionMessage{ExceptionMessage: "Service Unavailable"},
	Headers: map[string]string{"Retry-After": "1", vocabulary.MaintenanceHeader: "true"},
}

// enter returns the current gateway with the request counted, and waits for one between two. It returns nil when the
// client or the server ends.
func (l *Listener) enter(ctx context.Context) *Gateway {
	for {
		l.mu.Lock()
		if l.ended {
			l.mu.Unlock()
			return nil
		}
		if g := l.gateway; g != nil {
			g.requests.Add(1)
			l.mu.Unlock()
			return g
		}
		arrived := l.arrived
		l.mu.Unlock()
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil
		}
	}
}

// choose decides the vocabulary unless another request already has. Afterwards requests wait for the successor.
func (l *Listener) choose(ctx context.Context, vocab vocabulary.Vocabulary) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.successor || l.gateway == nil || l.gateway.cfg.Vocabulary.Decided() {
		return nil
	}
	if l.closing {
		return errDraining
	}
	if err := l.decide(ctx, vocab); err != nil {
		return err
	}
	l.gateway, l.successor = nil, true
	return nil
}
