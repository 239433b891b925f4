package brokertest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

// orderWithinWorkspace: each workspace's events arrive in the order in which its publisher published them, while many
// publish at once.
func orderWithinWorkspace(t *testing.T, b Broker) {
	const workspaces, each = 16, 100
	c := connect(t, b, func(cfg *broker.Config) { cfg.Shards = 4 })
	var wg sync.WaitGroup
	for range workspaces {
		workspace := uuid.New()
		wg.Go(func() {
			for i := range each {
				if err := c.Publisher().Publish(context.Background(), event(workspace, i)); err != nil {
					t.Errorf("publishing: %v", err)
					return
				}
			}
		})
	}
	got, _ := consume(t, c, broker.DurablePersist)
	next := map[uuid.UUID]int{}
	for range workspaces * each {
		e := receive(t, got)
		require.Equal(t, strconv.Itoa(next[e.Workspace]), e.Subject)
		next[e.Workspace]++
	}
	wg.Wait()
	require.Len(t, next, workspaces)
}

// redelivery: a batch comes again until the handler takes it, and says so.
func redelivery(t *testing.T, b Broker) {
	c := connect(t, b)
	want := events(3)
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want))
	deliveries := make(chan broker.Delivery, 100)
	failures := 3
	background(t, func(ctx context.Context) error {
		opts := broker.ConsumeOptions{Backoff: []time.Duration{time.Millisecond, 5 * time.Millisecond}}
		return c.ConsumeDeliveries(ctx, broker.DurablePersist, opts, func(_ context.Context, batch []broker.Delivery) error {
			if failures > 0 {
				failures--
				return errors.New("the store is away")
			}
			for _, d := range batch {
				deliveries <- d
			}
			return nil
		})
	})
	redelivered := 0
	for range want {
		d := receive(t, deliveries)
		require.Contains(t, want, d.Event)
		require.False(t, d.Published.IsZero())
		redelivered = max(redelivered, d.Redelivered)
	}
	require.Positive(t, redelivered)
	quiet(t, deliveries)
}

// slowHandler: a handler that works for longer than the ack wait keeps its batch.
func slowHandler(t *testing.T, b Broker) {
	const ackWait = 300 * time.Millisecond
	c := connect(t, b, func(cfg *broker.Config) { cfg.AckWait = ackWait })
	require.NoError(t, c.Publisher().Publish(t.Context(), event(uuid.New(), 1)))
	calls := make(chan int, 100)
	background(t, func(ctx context.Context) error {
		return c.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{},
			func(ctx context.Context, batch []broker.Event) error {
				calls <- len(batch)
				select {
				case <-time.After(4 * ackWait): // The work.
				case <-ctx.Done():
				}
				return nil
			})
	})
	require.Equal(t, 1, receive(t, calls))
	select {
	case <-calls:
		require.Fail(t, "delivered again while it was worked on")
	case <-time.After(6 * ackWait):
	}
}

// slowBatches: events that wait behind a slow handler for longer than the ack wait come once, too.
func slowBatches(t *testing.T, b Broker) {
	const ackWait = 500 * time.Millisecond
	c := connect(t, b, func(cfg *broker.Config) { cfg.AckWait = ackWait })
	want := events(4)
	for _, e := range want {
		require.NoError(t, c.Publisher().Publish(t.Context(), e))
	}
	deliveries := make(chan broker.Delivery, 100)
	background(t, func(ctx context.Context) error {
		return c.ConsumeDeliveries(ctx, broker.DurablePersist, broker.ConsumeOptions{MaxEvents: 1},
			func(ctx context.Context, batch []broker.Delivery) error {
				select {
				case <-time.After(2 * ackWait): // The work.
				case <-ctx.Done():
				}
				deliveries <- batch[0]
				return nil
			})
	})
	for _, e := range want {
		d := receive(t, deliveries)
		require.Equal(t, e, d.Event)
		require.Zero(t, d.Redelivered, "delivered again while it waited")
	}
	quiet(t, deliveries)
}

// handsBack: a consumer that stops returns its prefetched frames, long before the ack wait is over.
func handsBack(t *testing.T, b Broker) {
	patient := func(cfg *broker.Config) { cfg.AckWait = 10 * time.Minute }
	c := connect(t, b, patient)
	want := events(40)
	for _, e := range want {
		require.NoError(t, c.Publisher().Publish(t.Context(), e))
	}
	working := make(chan int, 1)
	stop := background(t, func(ctx context.Context) error {
		return c.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{MaxEvents: 1},
			func(ctx context.Context, batch []broker.Event) error {
				working <- len(batch)
				<-ctx.Done()
				return ctx.Err()
			})
	})
	receive(t, working)
	stop()
	got, _ := consume(t, connect(t, b, patient), broker.DurablePersist)
	receiveAll(t, got, want)
}

// batchLimit: batches keep to the limit, whatever the frames hold.
func batchLimit(t *testing.T, b Broker) {
	const limit = 7
	c := connect(t, b)
	want := events(200)
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want))
	batches := make(chan []broker.Event, len(want))
	background(t, func(ctx context.Context) error {
		return c.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{MaxEvents: limit},
			func(_ context.Context, batch []broker.Event) error {
				batches <- batch
				return nil
			})
	})
	var got []broker.Event
	for len(got) < len(want) {
		batch := receive(t, batches)
		require.NotEmpty(t, batch)
		require.LessOrEqual(t, len(batch), limit)
		got = append(got, batch...)
	}
	require.Equal(t, want, got)
}

// competing: two consumers of one name share the work.
func competing(t *testing.T, b Broker) {
	first, second := connect(t, b), connect(t, b)
	gotFirst, _ := consume(t, first, broker.DurablePersist)
	gotSecond, _ := consume(t, second, broker.DurablePersist)
	want := events(50)
	for _, e := range want {
		require.NoError(t, first.Publisher().Publish(t.Context(), e))
	}
	seen := map[uuid.UUID]bool{}
	for len(seen) < len(want) {
		var e broker.Event
		select {
		case e = <-gotFirst:
		case e = <-gotSecond:
		case <-time.After(waitTimeout):
			require.FailNow(t, "nothing came in time")
		}
		require.False(t, seen[e.ID], "delivered to both")
		seen[e.ID] = true
	}
}

// everyDurable: an event stays until each durable consumer has had it.
func everyDurable(t *testing.T, b Broker) {
	c := connect(t, b, func(cfg *broker.Config) { cfg.Durables = []string{broker.DurablePersist, "automations"} })
	want := events(20)
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want))
	for _, durable := range []string{broker.DurablePersist, "automations"} {
		got, stop := consume(t, c, durable)
		receiveAll(t, got, want)
		stop()
	}
}

// unknownDurable: a consumer that was never made is an error, not an endless wait.
func unknownDurable(t *testing.T, b Broker) {
	c := connect(t, b)
	err := c.Consume(t.Context(), "nobody", broker.ConsumeOptions{}, func(context.Context, []broker.Event) error { return nil })
	require.Error(t, err)
	require.ErrorContains(t, err, "nobody")
}
