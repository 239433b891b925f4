package broker

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// Fetching ahead stops when the hand is full and goes on when it is free again; nothing is skipped and nothing comes
// twice.
func TestIntakeStopsWhenTheHandIsFull(t *testing.T) {
	t.Parallel()
	for _, rest := range []time.Duration{0, time.Millisecond, time.Hour} {
		t.Run(rest.String(), func(t *testing.T) { takesAllInOrder(t, rest) })
	}
}

func takesAllInOrder(t *testing.T, rest time.Duration) {
	t.Helper()
	t.Parallel()
	const events, limit = 200, 10
	c := connectInProcess(t)
	for range events {
		require.NoError(t, c.Publisher().Publish(t.Context(), testEvent()))
	}
	require.EqualValues(t, events, storedFrames(t, c), "each event has a frame of its own")
	consumer, err := c.js.Consumer(t.Context(), StreamEvents, DurablePersist)
	require.NoError(t, err)
	in := newIntake(consumer, newHand(), limit, prefetchBytes, rest)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		in.run(ctx)
	}()
	last := uint64(0)
	for range events {
		msg := <-in.frames
		require.False(t, in.hand.holds(2*limit+1, prefetchBytes), "more in hand than a full one and what was on its way")
		meta, err := msg.Metadata()
		require.NoError(t, err)
		require.Equal(t, last+1, meta.Sequence.Stream)
		last = meta.Sequence.Stream
		require.NoError(t, msg.Ack())
		in.hand.put(msg)
	}
	cancel()
	<-done
	require.NoError(t, in.broken)
	require.False(t, in.hand.holds(1, 1), "nothing is left")
}

// counted notes how often somebody begins to fetch.
type counted struct {
	jetstream.Consumer
	begun atomic.Int64
}

func (c *counted) Messages(opts ...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	c.begun.Add(1)
	return c.Consumer.Messages(opts...)
}

// Who is quick enough to make room is fetched for without a break: to stop and begin takes longer than to handle all that is
// in hand.
func TestIntakeGoesOnForQuickHandlers(t *testing.T) {
	t.Parallel()
	const events, limit = 200, 10
	c := connectInProcess(t)
	for range events {
		require.NoError(t, c.Publisher().Publish(t.Context(), testEvent()))
	}
	consumer, err := c.js.Consumer(t.Context(), StreamEvents, DurablePersist)
	require.NoError(t, err)
	counting := &counted{Consumer: consumer}
	in := newIntake(counting, newHand(), limit, prefetchBytes, time.Hour) // Even the slowest is quick enough.
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		in.run(ctx)
	}()
	var held []jetstream.Msg
	for range events {
		held = append(held, <-in.frames)
		if len(held) < limit {
			continue // The hand is full before any of it is put down.
		}
		for _, msg := range held {
			require.NoError(t, msg.Ack())
			in.hand.put(msg)
		}
		held = nil
	}
	cancel()
	<-done
	require.EqualValues(t, 1, counting.begun.Load())
}

// waiting is a message that notes what the broker hears of it.
type waiting struct {
	jetstream.Msg
	heard chan time.Time
}

func (w *waiting) Data() []byte { return []byte("frame") }

func (w *waiting) InProgress() error {
	w.heard <- time.Now()
	return nil
}

// The broker hears of a message in hand at least once in half an ack wait, and no more when it was put down.
func TestHandKeepsWhatItHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ackWait = 8 * time.Second
		h := newHand()
		stop := h.keep(ackWait)
		defer stop()
		for offset := range 5 {
			<-time.After(time.Duration(offset) * 700 * time.Millisecond)
			w := &waiting{heard: make(chan time.Time, 100)}
			last := time.Now()
			h.take(w)
			<-time.After(10 * ackWait)
			h.put(w)
			synctest.Wait()
			close(w.heard)
			n := 0
			for at := range w.heard {
				require.LessOrEqual(t, at.Sub(last), ackWait/2)
				last = at
				n++
			}
			require.LessOrEqual(t, time.Since(last), ackWait/2)
			require.LessOrEqual(t, n, 40)
			require.False(t, h.holds(1, 1))
		}
	})
}
