package broker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// Prefetching stops when the in-flight set is full and resumes when it has room. No message is skipped or delivered
// twice.
func TestPrefetchStopsWhenFull(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit    int
		roomWait time.Duration
	}{
		{10, 0},
		{10, time.Millisecond},
		{10, time.Hour},
		{2, time.Hour}, // A status follows every second message, on a subscription with room for two.
	} {
		t.Run(fmt.Sprintf("%d messages, %v", c.limit, c.roomWait), func(t *testing.T) { receivesAllInOrder(t, c.limit, c.roomWait) })
	}
}

func receivesAllInOrder(t *testing.T, limit int, roomWait time.Duration) {
	t.Helper()
	t.Parallel()
	const events = 200
	c := connectInProcess(t)
	for range events {
		require.NoError(t, c.Publisher().Publish(t.Context(), testEvent()))
	}
	require.EqualValues(t, events, storedFrames(t, c), "each event has a frame of its own")
	consumer, err := c.js.Consumer(t.Context(), StreamEvents, DurablePersist)
	require.NoError(t, err)
	p := newPrefetcher(consumer, newInFlight(), limit, prefetchBytes, roomWait)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run(ctx)
	}()
	last := uint64(0)
	for range events {
		msg := <-p.frames
		require.False(t, p.inFlight.atLeast(2*limit+1, prefetchBytes), "more in flight than a full set and what was on its way")
		meta, err := msg.Metadata()
		require.NoError(t, err)
		require.Equal(t, last+1, meta.Sequence.Stream)
		last = meta.Sequence.Stream
		require.NoError(t, msg.Ack())
		p.inFlight.remove(msg)
	}
	cancel()
	<-done
	require.NoError(t, p.err)
	require.False(t, p.inFlight.atLeast(1, 1), "nothing is in flight")
}

// pullCounter counts pull requests.
type pullCounter struct {
	jetstream.Consumer
	pulls atomic.Int64
}

func (c *pullCounter) Consume(handle jetstream.MessageHandler, opts ...jetstream.PullConsumeOpt) (jetstream.ConsumeContext, error) {
	c.pulls.Add(1)
	return c.Consumer.Consume(handle, opts...)
}

// A fast handler is served by one pull request: a restart takes longer than handling the whole in-flight set.
func TestPrefetchContinuesForFastHandlers(t *testing.T) {
	t.Parallel()
	const events, limit = 200, 10
	c := connectInProcess(t)
	for range events {
		require.NoError(t, c.Publisher().Publish(t.Context(), testEvent()))
	}
	consumer, err := c.js.Consumer(t.Context(), StreamEvents, DurablePersist)
	require.NoError(t, err)
	counter := &pullCounter{Consumer: consumer}
	p := newPrefetcher(counter, newInFlight(), limit, prefetchBytes, time.Hour) // Even the slowest handler is fast enough.
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run(ctx)
	}()
	var batch []jetstream.Msg
	for range events {
		batch = append(batch, <-p.frames)
		if len(batch) < limit {
			continue // The set is full before any message is removed.
		}
		for _, msg := range batch {
			require.NoError(t, msg.Ack())
			p.inFlight.remove(msg)
		}
		batch = nil
	}
	cancel()
	<-done
	require.EqualValues(t, 1, counter.pulls.Load())
}

// waiting is a message that records its progress reports.
type waiting struct {
	jetstream.Msg
	reported chan time.Time
}

func (w *waiting) Data() []byte { return []byte("frame") }

func (w *waiting) InProgress() error {
	w.reported <- time.Now()
	return nil
}

// A message in flight is reported at least once in half an ack wait, and never after its removal.
func TestInFlightMessagesAreExtended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ackWait = 8 * time.Second
		h := newInFlight()
		stop := h.extendAckWait(ackWait)
		defer stop()
		for offset := range 5 {
			<-time.After(time.Duration(offset) * 700 * time.Millisecond)
			w := &waiting{reported: make(chan time.Time, 100)}
			last := time.Now()
			h.add(w)
			<-time.After(10 * ackWait)
			h.remove(w)
			synctest.Wait()
			close(w.reported)
			n := 0
			for at := range w.reported {
				require.LessOrEqual(t, at.Sub(last), ackWait/2)
				last = at
				n++
			}
			require.LessOrEqual(t, time.Since(last), ackWait/2)
			require.LessOrEqual(t, n, 40)
			require.False(t, h.atLeast(1, 1))
		}
	})
}
