// Package brokertest is the conformance suite of pkg/broker: the tests that pass on every broker that Orch runs with. A backend
// is a harness that opens a fresh, running broker; the suite is run by
//
//	brokertest.Run(t, func(t *testing.T) brokertest.Broker { … })
package brokertest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

// Broker is a running broker without streams. The suite may stop it and start it again; its data must stay.
type Broker interface {
	// Config says how to connect. It stays valid over a restart.
	Config() broker.Config
	Stop(tb testing.TB)
	Start(tb testing.TB)
}

// waitTimeout is how long the suite waits for something that must come. It is never waited for in full when all is well.
const waitTimeout = 30 * time.Second

// Run runs the suite. It calls open once per test; the broker ends with that test.
func Run(t *testing.T, open func(t *testing.T) Broker) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(t *testing.T, b Broker)
	}{
		{"Publish/RoundTrip", roundTrip},
		{"Publish/Invalid", invalid},
		{"Publish/All", publishAll},
		{"Publish/Large", large},
		{"Publish/CancelledContext", cancelledContext},
		{"Publish/Closed", closed},
		{"Publish/BrokerStopped", brokerStopped},
		{"Publish/StreamFull", streamFull},
		{"Publish/Overload", overload},
		{"Consume/OrderWithinWorkspace", orderWithinWorkspace},
		{"Consume/Redelivery", redelivery},
		{"Consume/SlowHandlerKeepsItsBatch", slowHandler},
		{"Consume/SlowHandlerKeepsWhatWaits", slowBatches},
		{"Consume/HandsBackWhenStopped", handsBack},
		{"Consume/BatchLimit", batchLimit},
		{"Consume/Competing", competing},
		{"Consume/EveryDurableGetsAll", everyDurable},
		{"Consume/UnknownDurable", unknownDurable},
		{"DeadLetter/Alone", deadLetterAlone},
		{"DeadLetter/RetryAndDiscard", retryAndDiscard},
		{"Subscribe/FromNow", subscribeFromNow},
		{"Live/ReachesThosePresent", liveFeed},
		{"Live/BrokerStopped", liveFeedWithoutBroker},
		{"Restart/AcknowledgedIsThere", restart},
		{"KeyValue/Watch", watch},
		{"KeyValue/CatchUp", catchUp},
		{"KeyValue/LastContact", lastContact},
		{"KeyValue/Swap", swap},
		{"Journal/NotesInOrder", journal},
		{"Rewrite/Events", rewriteEvents},
		{"Rewrite/Journal", rewriteJournal},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

// connect connects and ends with the test. The options change the configuration.
func connect(t *testing.T, b Broker, options ...func(*broker.Config)) *broker.Conn {
	t.Helper()
	cfg := b.Config()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.AckTimeout = 10 * time.Second // A slow machine must not fail the test.
	for _, o := range options {
		o(&cfg)
	}
	c, err := broker.Connect(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// event is a small event of a workspace with a number.
func event(workspace uuid.UUID, n int) broker.Event {
	return broker.Event{
		ID:        uuid.Must(uuid.NewV7()),
		Source:    "/test",
		Type:      "orch.test.Numbered",
		Subject:   fmt.Sprint(n),
		Time:      time.Now().UTC().Truncate(time.Microsecond),
		Workspace: workspace,
		Data:      json.RawMessage(fmt.Sprintf(`{"n": %d}`, n)),
	}
}

func events(n int) []broker.Event {
	workspace := uuid.New()
	all := make([]broker.Event, n)
	for i := range all {
		all[i] = event(workspace, i)
	}
	return all
}

// consume runs a consumer until the test ends (or stop is called) and gives its events, one at a time.
func consume(t *testing.T, c *broker.Conn, durable string) (got <-chan broker.Event, stop func()) {
	t.Helper()
	ch := make(chan broker.Event)
	stop = background(t, func(ctx context.Context) error {
		return c.Consume(ctx, durable, broker.ConsumeOptions{}, func(ctx context.Context, batch []broker.Event) error {
			for _, e := range batch {
				if !send(ctx, ch, e) {
					return ctx.Err()
				}
			}
			return nil
		})
	})
	return ch, stop
}

// background runs f until the test ends or stop is called, and requires that it ends without an error.
func background(t *testing.T, f func(ctx context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	stopped := false
	stop = func() {
		cancel()
		if !stopped {
			stopped = true
			require.NoError(t, receive(t, done))
		}
	}
	t.Cleanup(stop)
	return stop
}

func send[T any](ctx context.Context, ch chan<- T, v T) bool {
	select {
	case ch <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// receive waits for a value.
func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(waitTimeout):
		require.FailNow(t, "nothing came in time")
		panic("unreachable")
	}
}

// receiveAll waits for one delivery of each event, in any order, and ignores duplicates.
func receiveAll(t *testing.T, got <-chan broker.Event, want []broker.Event) {
	t.Helper()
	missing := map[uuid.UUID]broker.Event{}
	for _, e := range want {
		missing[e.ID] = e
	}
	for len(missing) > 0 {
		e := receive(t, got)
		if w, ok := missing[e.ID]; ok {
			require.Equal(t, w, e)
			delete(missing, e.ID)
		}
	}
}

// quiet requires that nothing comes for a moment. It can miss a late surplus, never fail wrongly.
func quiet[T any](t *testing.T, ch <-chan T) {
	t.Helper()
	select {
	case v := <-ch:
		require.Failf(t, "surplus", "%+v", v)
	case <-time.After(200 * time.Millisecond):
	}
}
