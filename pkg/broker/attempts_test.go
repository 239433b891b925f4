package broker

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// electing is JetStream in a cluster that elects a leader: the first request of each kind gets no response. An update is
// executed although its response is lost.
type electing struct {
	jetstream.JetStream
	streams map[string]jetstream.StreamConfig
	lost    map[string]bool
}

type electedStream struct {
	jetstream.Stream
	config jetstream.StreamConfig
}

func (s electedStream) CachedInfo() *jetstream.StreamInfo {
	return &jetstream.StreamInfo{Config: s.config}
}

// lose blocks the first request of a kind until its context ends.
func (e *electing) lose(ctx context.Context, kind string) error {
	if e.lost[kind] {
		return nil
	}
	e.lost[kind] = true
	<-ctx.Done()
	return ctx.Err()
}

func (e *electing) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if err := e.lose(ctx, "info"); err != nil {
		return nil, err
	}
	config, ok := e.streams[name]
	if !ok {
		return nil, jetstream.ErrStreamNotFound
	}
	return electedStream{config: config}, nil
}

func (e *electing) CreateStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	if c.MaxBytes > defaultDeadLetterBytes/2 {
		return nil, &jetstream.APIError{ErrorCode: 10047}
	}
	return e.store(ctx, "create", c)
}

func (e *electing) UpdateStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	return e.store(ctx, "update", c)
}

// store stores a configuration as a server does: zero is its default.
func (e *electing) store(ctx context.Context, kind string, c jetstream.StreamConfig) (jetstream.Stream, error) {
	c.MaxMsgs, c.MaxMsgsPerSubject = -1, -1
	e.streams[c.Name] = c
	return electedStream{config: c}, e.lose(ctx, kind)
}

func (e *electing) CreateOrUpdateConsumer(ctx context.Context, _ string, _ jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return nil, e.lose(ctx, "consumer")
}

// TestElectionLosesRequests: each request that makes or checks a stream is sent again, although the caller waits forever. A size
// that was halved leaves room for the buckets even if the response about it was lost.
func TestElectionLosesRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg, err := Config{URL: "nats://localhost", Logger: slog.New(slog.DiscardHandler)}.withDefaults()
		require.NoError(t, err)
		server := &electing{streams: map[string]jetstream.StreamConfig{}, lost: map[string]bool{}}
		ctx, cancel := context.WithTimeout(t.Context(), Forever)
		defer cancel()
		began := time.Now()
		c := &Conn{cfg: cfg, log: cfg.Logger, js: server}
		require.NoError(t, c.ensureStreams(ctx))
		require.Equal(t, 4*attemptTimeout, time.Since(began))
		require.EqualValues(t, defaultDeadLetterBytes/4, server.streams[StreamDeadLetters].MaxBytes)

		c.cfg.MaxBytes, server.lost = 64<<20, map[string]bool{}
		require.NoError(t, c.ensureStreams(ctx))
		require.EqualValues(t, 64<<20, server.streams[StreamEvents].MaxBytes)

		server.lost = map[string]bool{}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, c.ensureStreams(short), context.DeadlineExceeded, "the caller's deadline ends the attempts")
	})
}
