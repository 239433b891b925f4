package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// DialOptions configure Dial. The zero value selects the defaults.
type DialOptions struct {
	// Credentials secure the connection; nil means plaintext.
	Credentials credentials.TransportCredentials
	// Wait bounds how long a call waits for the connection, from the moment at which the connection was lost. So a restart
	// of the service delays calls, and a long outage fails them at once. Default 2 s.
	Wait time.Duration
	// Log gets one line per change between available and unavailable. Default slog.Default().
	Log *slog.Logger
}

// Conn is a connection to the replicas of a service. It connects in the background and reconnects after a loss. It is
// safe for concurrent use.
type Conn struct {
	grpc    *grpc.ClientConn
	log     *slog.Logger
	wait    time.Duration
	watcher chan struct{} // Closed when watch has returned.

	mu     sync.Mutex
	lost   time.Time // When the connection was lost or first attempted; zero while it is ready.
	failed bool      // The outage was logged.
}

// Dial returns a connection to the service at an address, which may name several replicas ("dns:///host:port"). The
// caller closes it.
func Dial(address string, options DialOptions) (*Conn, error) {
	if options.Credentials == nil {
		options.Credentials = insecure.NewCredentials()
	}
	if options.Wait == 0 {
		options.Wait = 2 * time.Second
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(options.Credentials),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 2 * time.Second,
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	c := &Conn{
		grpc: conn, log: options.Log.With("address", address), wait: options.Wait, watcher: make(chan struct{}), lost: time.Now(),
	}
	conn.Connect()
	go c.watch()
	return c, nil
}

// Invoke implements grpc.ClientConnInterface. While there is no connection it waits as DialOptions.Wait allows,
// and then fails with Unavailable.
func (c *Conn) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	c.await(ctx)
	return c.grpc.Invoke(ctx, method, request, response, options...)
}

// NewStream implements grpc.ClientConnInterface.
func (c *Conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	c.await(ctx)
	return c.grpc.NewStream(ctx, desc, method, options...)
}

// Ready returns why calls fail now, nil when the service is connected.
func (c *Conn) Ready() error {
	if state := c.grpc.GetState(); state != connectivity.Ready {
		return fmt.Errorf("connection is %s", state)
	}
	return nil
}

// Close closes the connection; calls in flight fail.
func (c *Conn) Close() error {
	err := c.grpc.Close()
	<-c.watcher
	return err
}

// await returns when the connection is ready, or when it cannot wait any longer.
func (c *Conn) await(ctx context.Context) {
	state := c.grpc.GetState()
	if state == connectivity.Ready {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, c.lostAt().Add(c.wait))
	defer cancel()
	for ; state != connectivity.Ready && state != connectivity.Shutdown; state = c.grpc.GetState() {
		if !c.grpc.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// lostAt is when the current outage began.
func (c *Conn) lostAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost.IsZero() {
		return time.Now() // The watcher has not seen the loss yet.
	}
	return c.lost
}

// watch follows the connection's state until Close.
func (c *Conn) watch() {
	defer close(c.watcher)
	for state := c.grpc.GetState(); state != connectivity.Shutdown; state = c.grpc.GetState() {
		c.note(state)
		if state == connectivity.Idle {
			c.grpc.Connect()
		}
		c.grpc.WaitForStateChange(context.Background(), state)
	}
}

// note keeps the beginning of an outage, and logs its beginning and its end.
func (c *Conn) note(state connectivity.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case state == connectivity.Ready:
		if c.failed {
			c.log.Info("service is available again")
		}
		c.lost, c.failed = time.Time{}, false
		return
	case state == connectivity.TransientFailure && !c.failed:
		c.log.Warn("service is unavailable, reconnecting")
		c.failed = true
	}
	if c.lost.IsZero() {
		c.lost = time.Now()
	}
}

var _ grpc.ClientConnInterface = (*Conn)(nil)
