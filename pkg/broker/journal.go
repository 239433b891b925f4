package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	journalPrefix = "journal."
	// journalStreamPrefix starts the names of the streams of journals.
	journalStreamPrefix = "JOURNAL_"
	// journalDurable is the one consumer of each journal.
	journalDurable = "store"

	defaultJournalBytes = 64 << 20
	defaultJournalAge   = 24 * time.Hour

	journalBatch = 64
	journalWait  = 5 * time.Second // How long one question for entries stays open.
)

// JournalConfig says how a journal is made. An existing journal is taken as it is.
type JournalConfig struct {
	Description string
	// MaxBytes is the size from which on the oldest entries are dropped. Default 64 MiB.
	MaxBytes int64
	// MaxAge is how long an entry waits to be consumed. Default 24 h.
	MaxAge time.Duration
}

// Journal carries entries of logs from many processes to one kind of consumer, best effort: a full journal drops the oldest
// entries, and no writer waits for a consumer. It is safe for concurrent use.
type Journal struct {
	conn *Conn
	name string
}

// Journal opens a journal, which is made when absent. Names consist of letters, digits, - and _.
func (c *Conn) Journal(ctx context.Context, name string, cfg JournalConfig) (*Journal, error) {
	setDefault(&cfg.MaxBytes, defaultJournalBytes)
	setDefault(&cfg.MaxAge, defaultJournalAge)
	j := &Journal{conn: c, name: name}
	err := attempts(ctx, func(ctx context.Context) error { return j.open(ctx, cfg) })
	return j, unavailable(ctx, "opening journal "+name, err)
}

// open makes the stream of the journal and its consumer unless they exist.
func (j *Journal) open(ctx context.Context, cfg JournalConfig) error {
	c := j.conn
	stream, err := c.js.Stream(ctx, j.stream())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = c.js.CreateStream(ctx, jetstream.StreamConfig{
			Name:        j.stream(),
			Description: cfg.Description,
			Subjects:    []string{j.subject()},
			Retention:   jetstream.WorkQueuePolicy,
			Discard:     jetstream.DiscardOld,
			Storage:     jetstream.FileStorage,
			Replicas:    c.cfg.Replicas,
			MaxBytes:    cfg.MaxBytes,
			MaxAge:      cfg.MaxAge,
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			stream, err = c.js.Stream(ctx, j.stream()) // Another service was faster.
		}
	}
	if err != nil {
		return err
	}
	_, err = stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: journalDurable, AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.cfg.AckWait, MaxDeliver: -1,
	})
	return err
}

func (j *Journal) stream() string  { return journalStreamPrefix + strings.ToUpper(j.name) }
func (j *Journal) subject() string { return journalPrefix + j.name }

// Append adds an entry and returns nil when the broker has it. Entries cost the broker a flush each: put many notes into
// one.
func (j *Journal) Append(ctx context.Context, entry []byte) error {
	bound, unbind := j.conn.epoch.bind(ctx)
	defer unbind()
	_, err := j.conn.js.Publish(bound, j.subject(), entry, jetstream.WithRetryAttempts(0))
	return unavailable(ctx, "writing into journal "+j.name, err)
}

// Consume gives entries to handle until ctx ends; it then returns nil (ErrClosed when the connection was closed first).
// Entries come at least once, and are gone when handle returns nil for their batch; otherwise they come again. Any number
// of processes may consume: each entry goes to one of them.
func (j *Journal) Consume(ctx context.Context, handle func(ctx context.Context, entries [][]byte) error) error {
	owner := ctx
	ctx, cancel := context.WithCancel(owner)
	defer cancel()
	defer context.AfterFunc(j.conn.ctx, cancel)()
	for ctx.Err() == nil {
		if err := j.consume(ctx, handle); err != nil && ctx.Err() == nil {
			j.conn.log.Log(ctx, j.conn.interruption(), "failed to consume a journal, consuming again", "journal", j.name, "error", err)
			clock.Pause(ctx, handlerPause)
		}
	}
	if owner.Err() == nil {
		return ErrClosed
	}
	return nil
}

// consume handles one batch, if one comes.
func (j *Journal) consume(ctx context.Context, handle func(ctx context.Context, entries [][]byte) error) error {
	bound, unbind := j.conn.epoch.bind(ctx)
	defer unbind()
	consumer, err := j.conn.js.Consumer(bound, j.stream(), journalDurable)
	if err != nil {
		return err
	}
	for bound.Err() == nil {
		wait, stop := context.WithTimeout(bound, journalWait)
		batch, err := consumer.Fetch(1, jetstream.FetchContext(wait))
		if err != nil {
			stop()
			return err
		}
		messages := drain(batch)
		stop()
		if len(messages) == 0 {
			if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, jetstream.ErrNoMessages) {
				return err
			}
			continue
		}
		if more, err := consumer.FetchNoWait(journalBatch); err == nil {
			messages = append(messages, drain(more)...)
		}
		if err := j.process(ctx, messages, consumer.CachedInfo().Config.AckWait, handle); err != nil {
			return err
		}
	}
	return bound.Err()
}

func drain(batch jetstream.MessageBatch) []jetstream.Msg {
	var messages []jetstream.Msg
	for msg := range batch.Messages() {
		messages = append(messages, msg)
	}
	return messages
}

func (j *Journal) process(ctx context.Context, messages []jetstream.Msg, ackWait time.Duration, handle func(ctx context.Context, entries [][]byte) error) error {
	entries := make([][]byte, len(messages))
	pending := newInFlight()
	for i, msg := range messages {
		entries[i] = msg.Data()
		pending.add(msg)
	}
	stop := pending.extendAckWait(ackWait)
	err := handle(ctx, entries)
	stop()
	if err != nil {
		for _, msg := range messages {
			_ = msg.NakWithDelay(handlerPause) // Lost: it comes again after the ack wait.
		}
		return fmt.Errorf("handling entries: %w", err)
	}
	for _, msg := range messages {
		if err := msg.Ack(); err != nil {
			return fmt.Errorf("acknowledging an entry; it will come again: %w", err)
		}
	}
	return nil
}
