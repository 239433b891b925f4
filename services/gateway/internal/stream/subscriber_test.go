package stream

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
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
