package broker

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

// A subscriber learns that frames left the stream while it was cut off, before it gets the frames that follow them.
func TestSubscribersLearnOfGaps(t *testing.T) {
	t.Parallel()
	n := testkit.StartNATS(t, embeddednats.Options{Listen: "127.0.0.1:0"})
	direct := connectTo(t, Config{InProcess: n})
	proxy := testkit.StartChaos(t, n.Address())
	c := connectTo(t, Config{URL: "nats://" + proxy.Addr()})

	ctx, cancel := context.WithCancel(t.Context())
	ready, done, seen := make(chan struct{}), make(chan error, 1), make(chan string, 10)
	go func() {
		done <- c.Subscribe(ctx, func(e Event) { seen <- e.Subject },
			OnReady(func() { close(ready) }), OnGap(func() { seen <- "gap" }))
	}()
	<-ready
	publish := func(subject string) {
		e := testEvent()
		e.Subject = subject
		require.NoError(t, direct.Publisher().Publish(t.Context(), e))
	}
	publish("one")
	require.Equal(t, "one", <-seen)

	proxy.Cut()
	require.Eventually(t, func() bool { return c.Healthy() != nil }, time.Minute, time.Millisecond)
	publish("missed")
	stream, err := direct.js.Stream(t.Context(), StreamEvents)
	require.NoError(t, err)
	require.NoError(t, stream.DeleteMsg(t.Context(), stream.CachedInfo().State.LastSeq))
	publish("two")
	proxy.Heal()
	require.Equal(t, "gap", <-seen)
	require.Equal(t, "two", <-seen)
	cancel()
	require.NoError(t, <-done)
}

// A frame that all consumers have processed leaves the stream. If that happens before a subscription has begun, it is no gap.
func TestFramesBeforeASubscriptionAreNoGap(t *testing.T) {
	t.Parallel()
	c := connectTo(t, Config{InProcess: testkit.StartNATS(t, embeddednats.Options{})})
	stream, err := c.js.Stream(t.Context(), StreamEvents)
	require.NoError(t, err)
	consumers := stream.ConsumerNames(t.Context())
	for name := range consumers.Name() {
		consumer, err := stream.Consumer(t.Context(), name)
		require.NoError(t, err)
		processing, err := consumer.Consume(func(msg jetstream.Msg) { _ = msg.Ack() }) // Without it the frame is delivered again.
		require.NoError(t, err)
		defer processing.Stop()
	}
	require.NoError(t, consumers.Err())
	published, stop := context.WithCancel(t.Context())
	var publishers sync.WaitGroup
	for range 8 {
		publishers.Go(func() {
			for published.Err() == nil {
				_ = c.Publisher().Publish(published, testEvent()) // The last one is interrupted.
			}
		})
	}
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		gaps := 0
		require.NoError(t, c.Subscribe(ctx, func(Event) { cancel() }, OnGap(func() { gaps++ })))
		require.Zero(t, gaps)
	}
	stop()
	publishers.Wait()
}
