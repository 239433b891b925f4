package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	subjectPrefix    = "events."
	deadLetterPrefix = "dlq." + StreamEvents + "."

	defaultMaxBytes        = 8 << 30
	defaultDeadLetterBytes = 256 << 20
	leastStreamBytes       = 16 << 20 // Below, halving stops and the server's refusal is reported.

	// deadLetterAge is how long an operator has to look at a dead letter.
	deadLetterAge = 30 * 24 * time.Hour
	// duplicateWindow is how long a frame's id is remembered. It must exceed the time of a publisher's attempts.
	duplicateWindow = 2 * time.Minute
	// guardInterval is how often the durable consumers are looked for.
	guardInterval = 10 * time.Second
)

// ensureStreams makes the streams and durable consumers that are missing and refuses unfit ones.
func (c *Conn) ensureStreams(ctx context.Context) error {
	events := jetstream.StreamConfig{
		Name:        StreamEvents,
		Description: "Events that are not yet handled by all durable consumers.",
		Subjects:    []string{subjectPrefix + "*"},
		Retention:   jetstream.InterestPolicy,
		Discard:     jetstream.DiscardNew,
		Storage:     jetstream.FileStorage,
		Replicas:    c.cfg.Replicas,
		Duplicates:  duplicateWindow,
	}
	// The small stream first: when the disk is small, the large one takes the rest.
	dead := jetstream.StreamConfig{
		Name:        StreamDeadLetters,
		Description: "Events that a durable consumer rejected.",
		Subjects:    []string{"dlq.>"},
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardNew,
		Storage:     jetstream.FileStorage,
		Replicas:    c.cfg.Replicas,
		Duplicates:  duplicateWindow,
		MaxAge:      deadLetterAge,
	}
	if err := c.ensureStream(ctx, dead, c.cfg.DeadLetterBytes, defaultDeadLetterBytes); err != nil {
		return err
	}
	if err := c.ensureStream(ctx, events, c.cfg.MaxBytes, defaultMaxBytes); err != nil {
		return err
	}
	return c.ensureDurables(ctx)
}

// ensureStream creates a stream, or checks the existing one and adapts its size when one is configured.
func (c *Conn) ensureStream(ctx context.Context, want jetstream.StreamConfig, maxBytes, fallback int64) error {
	var stream jetstream.Stream
	err := attempts(ctx, func(ctx context.Context) (err error) {
		stream, err = c.js.Stream(ctx, want.Name)
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return c.createStream(ctx, want, maxBytes, fallback)
	case err != nil:
		return unavailable(ctx, "looking up stream "+want.Name, err)
	}
	have := stream.CachedInfo().Config
	if err := checkStream(want, have); err != nil {
		return err
	}
	if maxBytes == 0 || have.MaxBytes == maxBytes {
		return nil
	}
	have.MaxBytes = maxBytes
	return c.resizeStream(ctx, have)
}

// resizeStream sets the size of an existing stream.
func (c *Conn) resizeStream(ctx context.Context, want jetstream.StreamConfig) error {
	err := attempts(ctx, func(ctx context.Context) error {
		_, err := c.js.UpdateStream(ctx, want)
		return err
	})
	return unavailable(ctx, fmt.Sprintf("setting the size of stream %s to %d bytes", want.Name, want.MaxBytes), err)
}

// createStream creates a stream of the configured size; without one, of the largest that the server grants.
func (c *Conn) createStream(ctx context.Context, want jetstream.StreamConfig, maxBytes, fallback int64) error {
	want.MaxBytes = maxBytes
	if maxBytes == 0 {
		want.MaxBytes = fallback
	}
	halved := false
	for {
		err := attempts(ctx, func(ctx context.Context) error {
			_, err := c.js.CreateStream(ctx, want)
			return err
		})
		switch {
		case err == nil && halved:
			want.MaxBytes /= 2 // Leaves room for the key-value buckets.
			return c.resizeStream(ctx, want)
		case err == nil:
			c.log.InfoContext(ctx, "created stream", "stream", want.Name, "max_bytes", want.MaxBytes)
			return nil
		case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
			return c.ensureStream(ctx, want, maxBytes, fallback) // Another service was faster.
		case maxBytes == 0 && want.MaxBytes/2 >= leastStreamBytes && exceedsStorage(err):
			want.MaxBytes /= 2
			halved = true
		default:
			return unavailable(ctx, fmt.Sprintf("creating stream %s of %d bytes", want.Name, want.MaxBytes), err)
		}
	}
}

// attemptTimeout bounds one request to the leader of the cluster, which loses requests that arrive while it is elected.
const attemptTimeout = 5 * time.Second

// attempts sends an idempotent request again while it gets no response, until ctx ends.
func attempts(ctx context.Context, request func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		err := request(attempt)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
}

// checkStream refuses a stream on which "acknowledged means stored" does not hold.
func checkStream(want, have jetstream.StreamConfig) error {
	for _, s := range []struct {
		name       string
		want, have any
	}{
		{"retention", want.Retention, have.Retention},
		{"discard", want.Discard, have.Discard},
		{"storage", want.Storage, have.Storage},
		{"max_age", want.MaxAge, have.MaxAge},
		{"max_msgs", int64(-1), have.MaxMsgs},
		{"max_msgs_per_subject", int64(-1), have.MaxMsgsPerSubject},
		{"no_ack", false, have.NoAck},
		{"persist_mode", jetstream.DefaultPersistMode, have.PersistMode},
	} {
		if s.want != s.have {
			return fmt.Errorf("%w: %s has %s %v, needed is %v", ErrStreamMismatch, want.Name, s.name, s.have, s.want)
		}
	}
	return nil
}

// ensureDurables makes the durable consumers. They exist before the first event is published: with interest retention an
// event that nobody waits for is acknowledged and dropped.
func (c *Conn) ensureDurables(ctx context.Context) error {
	for _, name := range c.cfg.Durables {
		err := attempts(ctx, func(ctx context.Context) error {
			_, err := c.js.CreateOrUpdateConsumer(ctx, StreamEvents, jetstream.ConsumerConfig{
				Durable:       name,
				DeliverPolicy: jetstream.DeliverAllPolicy,
				AckPolicy:     jetstream.AckExplicitPolicy,
				AckWait:       c.cfg.AckWait,
				MaxDeliver:    -1, // A store that is away for hours must not cost an event.
				MaxAckPending: maxAckPending,
			})
			return err
		})
		if err != nil {
			return unavailable(ctx, "creating durable consumer "+name, err)
		}
	}
	return nil
}

// guardDurables creates a durable consumer again that was deleted while the services run. It misses the events that were
// published meanwhile: guardInterval bounds the loss, and the log reports it.
func (c *Conn) guardDurables() {
	for clock.Pause(c.ctx, guardInterval) {
		ctx, cancel := context.WithTimeout(c.ctx, guardInterval/2)
		c.restoreDurables(ctx)
		cancel()
	}
}

func (c *Conn) restoreDurables(ctx context.Context) {
	for _, name := range c.cfg.Durables {
		if _, err := c.js.Consumer(ctx, StreamEvents, name); !errors.Is(err, jetstream.ErrConsumerNotFound) {
			continue
		}
		c.log.ErrorContext(ctx, "a durable consumer was deleted; creating it again", "durable", name)
		if err := c.ensureDurables(ctx); err != nil {
			c.log.ErrorContext(ctx, "failed to create a durable consumer", "durable", name, "error", err)
		}
	}
}
