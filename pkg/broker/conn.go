package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// requestTimeout bounds each question to JetStream whose caller sets no deadline.
const requestTimeout = 2 * time.Second

// Conn is a connection to the broker. It reconnects by itself, for ever. It is safe for concurrent use.
type Conn struct {
	cfg Config
	log *slog.Logger
	nc  *nats.Conn
	js  jetstream.JetStream

	epoch     *epoch
	publisher *Publisher

	deadLettered       atomic.Int64 // Dead letters that this process has written.
	deadLettersDropped atomic.Int64 // Dead letters that it has dropped because the stream was full.

	ctx    context.Context // Ends with Close: the life of the goroutines below.
	cancel context.CancelFunc
	wg     sync.WaitGroup
	close  sync.Once
}

// Connect connects, checks the settings of the broker (see the package documentation) and makes the streams and durable
// consumers that are missing. While no server responds it retries until ctx or Config.ConnectTimeout ends. A
// server that refuses the connection, or has the wrong settings, is an error at once.
func Connect(ctx context.Context, cfg Config) (*Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
	defer cancel()

	c := &Conn{cfg: cfg, log: cfg.Logger, epoch: newEpoch()}
	if err := c.establish(ctx); err != nil {
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.publisher = newPublisher(c)
	c.wg.Go(c.guardDurables)
	return c, nil
}

func (c *Conn) options() []nats.Option {
	opts := []nats.Option{
		nats.Name(c.cfg.Name),
		nats.CustomInboxPrefix("_INBOX." + c.cfg.Name), // So that users of the broker may read replies to their own service alone.
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(50*time.Millisecond, 100*time.Millisecond),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		// Nothing is buffered while disconnected: the callers learn at once, and no event is sent after its publisher
		// received an error.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			c.epoch.disconnected()
			if err != nil {
				c.log.Warn("disconnected from the broker", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.log.Info("reconnected to the broker", "server", nc.ConnectedServerName())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.log.Warn("failed to use the broker connection", "error", err)
		}),
	}
	if c.cfg.InProcess != nil {
		opts = append(opts, nats.InProcessServer(c.cfg.InProcess))
	}
	return append(opts, c.cfg.Options...)
}

// prepare checks the server's settings, and makes the streams and durable consumers that are missing.
func (c *Conn) prepare(ctx context.Context) error {
	if got := c.nc.MaxPayload(); got < MinMaxPayload {
		return fmt.Errorf("%w: %d bytes: set max_payload: 8MB in the server's configuration", ErrMaxPayload, got)
	}
	js, err := jetstream.New(c.nc, jetstream.WithDefaultTimeout(requestTimeout))
	if err != nil {
		return fmt.Errorf("opening JetStream: %w", err)
	}
	c.js = js
	err = attempts(ctx, func(ctx context.Context) error {
		_, err := js.AccountInfo(ctx)
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return fmt.Errorf("%w on the server: add jetstream { sync_interval: always } to its configuration", ErrNoJetStream)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w for the account: add jetstream: enabled to it in the server's configuration", ErrNoJetStream)
	case err != nil:
		return unavailable(ctx, "reading the JetStream account", err)
	}
	if err := c.assertSync(ctx); err != nil {
		return err
	}
	return c.ensureStreams(ctx)
}

// Publisher publishes events. There is one per connection.
func (c *Conn) Publisher() *Publisher { return c.publisher }

// Healthy is nil while the broker is connected and took the last frame (or refused it a while ago), else the reason. It
// never blocks.
func (c *Conn) Healthy() error {
	if status := c.nc.Status(); status != nats.CONNECTED {
		return fmt.Errorf("%w: connection is %s", ErrUnavailable, status)
	}
	return c.publisher.healthy()
}

// interruption is the level at which an interrupted consumer is logged: while the connection is lost, the log says so already.
func (c *Conn) interruption() slog.Level {
	if c.nc.Status() != nats.CONNECTED {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// Close refuses new events, waits for the frames in flight (Config.AckTimeout at most), ends the goroutines of the
// connection and disconnects. Further calls do nothing.
func (c *Conn) Close() error {
	c.close.Do(func() {
		c.publisher.close()
		c.cancel()
		c.wg.Wait()
		c.nc.Close()
	})
	return nil
}

// unavailable marks err as a failure of the broker, unless the caller's context is the reason.
func unavailable(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, err)
}
