package brokertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/broker"
)

// roundTrip: whatever can be published arrives as it was, byte for byte in its data.
func roundTrip(t *testing.T, b Broker) {
	c := connect(t, b, func(cfg *broker.Config) { cfg.Shards = 3 })
	got, _ := consume(t, c, broker.DurablePersist)
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfN(Event(), 1, 20).Draw(rt, "events")
		if err := c.Publisher().PublishAll(t.Context(), want); err != nil {
			rt.Fatalf("publishing: %v", err)
		}
		arrived := map[uuid.UUID]broker.Event{}
		for range want {
			e := receive(t, got)
			arrived[e.ID] = e
		}
		for _, w := range want {
			if diff := cmp.Diff(w, arrived[w.ID]); diff != "" {
				rt.Fatalf("-published +arrived\n%s", diff)
			}
		}
	})
}

// invalid: an event that cannot be written is refused with the reason, and the other events of its list are not sent.
func invalid(t *testing.T, b Broker) {
	c := connect(t, b)
	got, _ := consume(t, c, broker.DurablePersist)
	for name, spoil := range map[string]func(*broker.Event){
		"no id":        func(e *broker.Event) { e.ID = uuid.Nil },
		"no source":    func(e *broker.Event) { e.Source = "" },
		"no type":      func(e *broker.Event) { e.Type = "" },
		"bad UTF-8":    func(e *broker.Event) { e.Subject = "\xff" },
		"bad JSON":     func(e *broker.Event) { e.Data = json.RawMessage(`{"a":`) },
		"two values":   func(e *broker.Event) { e.Data = json.RawMessage(`1 2`) },
		"year 10000":   func(e *broker.Event) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"bad raw data": func(e *broker.Event) { e.Data = json.RawMessage("\"\xff\"") },
	} {
		list := events(2)
		spoil(&list[1])
		require.ErrorIs(t, c.Publisher().Publish(t.Context(), list[1]), broker.ErrInvalidEvent, name)
		require.ErrorIs(t, c.Publisher().PublishAll(t.Context(), list), broker.ErrInvalidEvent, name)
	}
	quiet(t, got)
}

// publishAll: a list that is longer than the queue goes through, in order.
func publishAll(t *testing.T, b Broker) {
	c := connect(t, b, func(cfg *broker.Config) { cfg.QueueEvents = 10 })
	got, _ := consume(t, c, broker.DurablePersist)
	want := events(1000)
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want))
	for _, w := range want {
		require.Equal(t, w, receive(t, got))
	}
	require.NoError(t, c.Publisher().PublishAll(t.Context(), nil))
}

// large: the largest event passes, also beside others; a larger one is refused.
func large(t *testing.T, b Broker) {
	c := connect(t, b)
	got, _ := consume(t, c, broker.DurablePersist)
	sized := func(n int) broker.Event {
		e := event(uuid.New(), 0)
		e.Data = json.RawMessage(`"` + strings.Repeat("x", n) + `"`)
		return e
	}
	want := []broker.Event{sized(1_400_000), sized(10), sized(500_000), sized(300_000), sized(300_000)}
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want))
	receiveAll(t, got, want)
	require.ErrorIs(t, c.Publisher().Publish(t.Context(), sized(broker.MaxEventBytes)), broker.ErrTooLarge)
}

// cancelledContext: the publisher that gives up gets its own error.
func cancelledContext(t *testing.T, b Broker) {
	c := connect(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Publisher().Publish(ctx, event(uuid.New(), 1)), context.Canceled)
	require.ErrorIs(t, c.Publisher().PublishAll(ctx, events(3)), context.Canceled)

	b.Stop(t)
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	require.ErrorIs(t, c.Publisher().Publish(ctx, event(uuid.New(), 1)), context.DeadlineExceeded)
	require.Less(t, time.Since(start), 5*time.Second)
	b.Start(t)
}

// closed: after Close the publisher refuses events, and Close settles the events that it took before.
func closed(t *testing.T, b Broker) {
	c := connect(t, b)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for i := 0; ; i++ {
				err := c.Publisher().Publish(context.Background(), event(uuid.New(), i))
				if err != nil {
					if !isUnavailable(err) {
						t.Errorf("got %v", err)
					}
					return
				}
			}
		})
	}
	require.NoError(t, c.Publisher().Publish(t.Context(), event(uuid.New(), 0)))
	require.NoError(t, c.Close())
	wg.Wait()
	require.ErrorIs(t, c.Publisher().Publish(t.Context(), event(uuid.New(), 1)), broker.ErrClosed)
	require.ErrorIs(t, c.Healthy(), broker.ErrUnavailable)
	require.NoError(t, c.Close())
}

// brokerStopped: without a broker the answer comes in time, and when it is back so is the service.
func brokerStopped(t *testing.T, b Broker) {
	const ackTimeout = 500 * time.Millisecond
	c := connect(t, b, func(cfg *broker.Config) { cfg.AckTimeout = ackTimeout })
	got, _ := consume(t, c, broker.DurablePersist)
	require.NoError(t, c.Healthy())
	b.Stop(t)
	start := time.Now()
	require.ErrorIs(t, c.Publisher().Publish(t.Context(), event(uuid.New(), 1)), broker.ErrUnavailable)
	require.Less(t, time.Since(start), 4*ackTimeout)
	require.ErrorIs(t, c.Healthy(), broker.ErrUnavailable)
	b.Start(t)

	want := event(uuid.New(), 2)
	deadline := time.Now().Add(waitTimeout)
	for c.Publisher().Publish(t.Context(), want) != nil {
		require.True(t, time.Now().Before(deadline), "the broker did not come back")
	}
	receiveAll(t, got, []broker.Event{want})
	require.NoError(t, c.Healthy())
}

// streamFull: a full stream refuses new events and drops none of the old ones.
func streamFull(t *testing.T, b Broker) {
	c := connect(t, b, func(cfg *broker.Config) { cfg.MaxBytes = 256 << 10 })
	var acknowledged []broker.Event
	workspace := uuid.New()
	var err error
	for i := 0; err == nil; i++ {
		require.Less(t, i, 1000, "the stream never fills")
		e := event(workspace, i)
		e.Data = json.RawMessage(fmt.Sprintf("%q", strings.Repeat("x", 10_000)))
		if err = c.Publisher().Publish(t.Context(), e); err == nil {
			acknowledged = append(acknowledged, e)
		}
	}
	require.ErrorIs(t, err, broker.ErrUnavailable)
	require.ErrorIs(t, c.Healthy(), broker.ErrUnavailable)
	require.NotEmpty(t, acknowledged)

	// The stream keeps an event until the last durable consumer has it.
	for _, durable := range []string{broker.DurablePersist, broker.DurableAutomations} {
		got, _ := consume(t, c, durable)
		receiveAll(t, got, acknowledged)
	}
	deadline := time.Now().Add(waitTimeout)
	for {
		if err = c.Publisher().Publish(t.Context(), event(workspace, 0)); err == nil {
			break
		}
		require.True(t, time.Now().Before(deadline), "the stream does not take events after it was emptied: %v", err)
	}
	require.NoError(t, c.Healthy())
}

// overload: events that do not fit the queue are refused at once.
func overload(t *testing.T, b Broker) {
	c := connect(t, b, func(cfg *broker.Config) { cfg.QueueEvents, cfg.AckTimeout = 1, time.Second })
	b.Stop(t)
	var wg sync.WaitGroup
	errs := make(chan error, 500)
	start := time.Now()
	for i := range 500 {
		wg.Go(func() { errs <- c.Publisher().Publish(context.Background(), event(uuid.New(), i)) })
	}
	refusedAtOnce := 0
	for range 490 {
		err := receive(t, errs)
		require.ErrorIs(t, err, broker.ErrUnavailable)
		if strings.Contains(err.Error(), "waiting") {
			refusedAtOnce++
		}
	}
	require.Positive(t, refusedAtOnce)
	require.Less(t, time.Since(start), 10*time.Second)
	wg.Wait()
	b.Start(t)
}
