package broker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/isolation"
	"github.com/orch-project/orch/pkg/testkit"
)

var errAway = fmt.Errorf("store events: %w", isolation.NewOutage("the store is unavailable"))

// An outage says nothing about a frame, so its delay does not grow with the deliveries. A failure does.
func TestTheDelayAfterAnOutageDoesNotGrow(t *testing.T) {
	t.Parallel()
	k := &consumption{opts: ConsumeOptions{Backoff: []time.Duration{time.Second, time.Minute, time.Hour}}}
	seen := map[time.Duration]bool{}
	for delivered := range 1000 {
		delay := k.redeliveryDelay(delivered+1, errAway)
		require.LessOrEqual(t, delay, outageBackoff)
		require.GreaterOrEqual(t, delay, outageBackoff/2)
		seen[delay] = true
	}
	require.Greater(t, len(seen), 100, "frames do not come back at once")
	failure := errors.New("the event is refused")
	for i, want := range []time.Duration{time.Second, time.Minute, time.Hour, time.Hour} {
		require.Equal(t, want, k.redeliveryDelay(i+1, failure))
	}
}

// During an outage more frames come than a consumer may leave unacknowledged. After it, all are handled, and a new one too.
func TestEventsAreHandledAfterAnOutage(t *testing.T) {
	t.Parallel()
	c := connectTo(t, Config{InProcess: testkit.StartNATS(t, embeddednats.Options{})})
	stored := make(chan struct{}, 1)
	const frames = maxAckPending + 200
	publishFrames(t, c, frames, func(int) []Event { return []Event{testEvent()} })
	var away atomic.Bool
	away.Store(true)
	handled, failures := 0, 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-stored
		away.Store(false)
	}()
	opts := ConsumeOptions{MaxEvents: frames, Backoff: []time.Duration{100 * time.Millisecond, time.Hour}}
	require.NoError(t, c.Consume(ctx, DurablePersist, opts, func(_ context.Context, batch []Event) error {
		if away.Load() {
			if failures += len(batch); failures > frames { // Each frame was delivered, and some again.
				select {
				case stored <- struct{}{}:
				default:
				}
			}
			return errAway
		}
		if handled += len(batch); handled >= frames {
			cancel()
		}
		return nil
	}))
	require.GreaterOrEqual(t, handled, frames)
}
