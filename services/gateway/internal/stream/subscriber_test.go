package stream

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/testkit"
)

// A burst of several full frames, which a feed brings without pause, waits for a subscriber that reads well; one that has
// more waiting than that is ended.
func TestSubscribersTakeBursts(t *testing.T) {
	t.Parallel()
	q := newSubscriber(uuid.New(), false, func(struct{}) bool { return true })
	for range 10 {
		for range 16 * broker.MaxFrameEvents {
			q.push(message{id: uuid.New(), text: []byte("{}")})
		}
		batch, end := q.take()
		require.True(t, end.ok())
		require.Len(t, batch, 16*broker.MaxFrameEvents)
	}
	for range 16*broker.MaxFrameEvents + 1 {
		q.push(message{id: uuid.New(), text: []byte("{}")})
	}
	batch, end := q.take()
	require.Equal(t, tooSlow, end)
	require.Empty(t, batch)
}

// A subscriber that reads too slowly is ended before its queue exceeds its bytes; it has more room while it receives the past.
func TestQueuesOfSubscribersAreBounded(t *testing.T) {
	t.Parallel()
	text := make([]byte, 1_000_000)
	fill := func(q *subscriber[struct{}]) (add func() bool, used func() int) {
		return func() bool {
			q.push(message{id: uuid.New(), text: text})
			return !q.end.ok()
		}, func() int { return q.bytes }
	}
	all := func(struct{}) bool { return true }
	add, used := fill(newSubscriber(uuid.New(), false, all))
	testkit.FillBound(t, "live events that wait for a subscriber", maxQueueBytes, add, used)
	add, used = fill(newSubscriber(uuid.New(), true, all))
	testkit.FillBound(t, "live events that wait for a subscriber that receives the past", maxBehindBytes, add, used)
}
