package broker

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

// consumeOne handles events until the first has come.
func consumeOne(t *testing.T, c *Conn) Event {
	t.Helper()
	return consumeOneOf(t, c, DurablePersist)
}

func consumeOneOf(t *testing.T, c *Conn, durable string) Event {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got Event
	require.NoError(t, c.Consume(ctx, durable, ConsumeOptions{}, func(_ context.Context, batch []Event) error {
		got = batch[0]
		cancel()
		return nil
	}))
	return got
}

// An event that every durable consumer has handled leaves the stream.
func TestHandledEventsLeaveTheStream(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	require.NoError(t, c.Publisher().Publish(t.Context(), testEvent()))
	require.EqualValues(t, 1, storedFrames(t, c))
	for _, durable := range c.cfg.Durables {
		consumeOneOf(t, c, durable)
	}
	require.NoError(t, c.nc.Flush())
	for deadline := time.Now().Add(20 * time.Second); storedFrames(t, c) != 0; { // The server removes it in its own time.
		require.True(t, time.Now().Before(deadline), "still in the stream")
	}
}

// A paced consumer takes the events that came meanwhile into one batch, however many frames have them.
func TestPacedConsumerTakesManyFramesAtOnce(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	const events = 40
	for range events {
		require.NoError(t, c.Publisher().Publish(t.Context(), testEvent()))
	}
	require.EqualValues(t, events, storedFrames(t, c), "each event has a frame of its own")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, largest := 0, 0
	require.NoError(t, c.Consume(ctx, DurablePersist, ConsumeOptions{Pace: 200 * time.Millisecond}, func(_ context.Context, batch []Event) error {
		largest = max(largest, len(batch))
		if seen += len(batch); seen == events {
			cancel()
		}
		return nil
	}))
	require.Greater(t, largest, events/2)
}

// A yielding consumer pauses although the waiting frames fit into one batch: it is a burst all the same.
func TestYieldingConsumerPausesWhileFramesWait(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := &consumption{conn: c, durable: DurablePersist, opts: ConsumeOptions{MaxEvents: 100, Yield: time.Hour}, log: c.log}
	var took time.Duration
	var ended time.Time
	k.handle = func(ctx context.Context, _ []Delivery) error {
		if !ended.IsZero() {
			cancel()
			return nil
		}
		began := time.Now()
		for range 2 {
			if err := c.Publisher().Publish(ctx, testEvent()); err != nil {
				return err
			}
		}
		for !k.inFlight.atLeast(3, math.MaxInt) { // When the last is in flight the one before waits for the handler.
			runtime.Gosched()
		}
		ended = time.Now()
		took = ended.Sub(began)
		return nil
	}
	require.NoError(t, c.Publisher().Publish(t.Context(), testEvent()))
	require.ErrorIs(t, k.consume(ctx), context.Canceled)
	require.GreaterOrEqual(t, time.Since(ended), yieldFactor*took)
}

// requireAllDelivered waits until the server has sent every frame to a consumer, and the client has received them.
func requireAllDelivered(t *testing.T, c *Conn) {
	t.Helper()
	require.Eventually(t, func() bool {
		consumer, err := c.js.Consumer(t.Context(), StreamEvents, DurablePersist)
		return err == nil && consumer.CachedInfo().NumPending == 0
	}, time.Minute, time.Millisecond)
	require.NoError(t, c.nc.Flush())
}

// Frames of markup are small as they are fetched. A batch is bounded by the data that it decodes to.
func TestABatchIsBoundedByItsData(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	const events = 30
	body := append(append([]byte(`{"body":"`), bytes.Repeat([]byte("<"), 1<<20)...), `"}`...)
	for range events {
		e := testEvent()
		e.Data = body
		require.NoError(t, c.Publisher().Publish(t.Context(), e))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	handled := 0
	var sizes []int
	err := c.Consume(ctx, DurablePersist, ConsumeOptions{}, func(_ context.Context, batch []Event) error {
		if len(sizes) == 0 {
			requireAllDelivered(t, c) // The later batches find every frame waiting.
		}
		size := 0
		for i := range batch {
			size += len(batch[i].Data)
		}
		sizes = append(sizes, size)
		if handled += len(batch); handled == events {
			cancel()
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, events, handled)
	size := 0
	testkit.FillBound(t, "a batch of a consumer", maxBatchBytes+maxDecompressed, func() bool {
		require.NotEmpty(t, sizes, "no batch is full")
		size, sizes = sizes[0], sizes[1:]
		return size >= maxBatchBytes
	}, func() int { return size })
}
