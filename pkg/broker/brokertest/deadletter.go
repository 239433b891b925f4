package brokertest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

// rejecting consumes, rejects the events that reject names, and gives the others.
func rejecting(t *testing.T, c *broker.Conn, reject func(broker.Event) bool) <-chan broker.Event {
	t.Helper()
	handled := make(chan broker.Event, 1000)
	background(t, func(ctx context.Context) error {
		return c.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{},
			func(_ context.Context, batch []broker.Event) error {
				bad := broker.Rejected{Err: errors.New("cannot be\nhandled")}
				for _, e := range batch {
					if reject(e) {
						bad.Keys = append(bad.Keys, e.Key())
					} else {
						handled <- e
					}
				}
				if bad.Keys != nil {
					return &bad
				}
				return nil
			})
	})
	return handled
}

// deadLetterAlone: a rejected event goes to the dead letters by itself; its frame is done.
func deadLetterAlone(t *testing.T, b Broker) {
	c := connect(t, b)
	want := events(10)
	bad := want[4]
	handled := rejecting(t, c, func(e broker.Event) bool { return e.ID == bad.ID })
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want))
	receiveAll(t, handled, append(append([]broker.Event{}, want[:4]...), want[5:]...))

	after := event(bad.Workspace, 99) // It is handled later than the dead letter was written.
	require.NoError(t, c.Publisher().Publish(t.Context(), after))
	receiveAll(t, handled, []broker.Event{after})
	letters, err := c.DeadLetters(t.Context(), broker.DurablePersist, 0, 100)
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, bad, letters[0].Event)
	require.Equal(t, broker.DurablePersist, letters[0].Durable)
	require.Equal(t, "cannot be handled", letters[0].Reason)
	require.False(t, letters[0].At.IsZero())
	quiet(t, handled)
}

// replayAndDiscard: an operator gets an event back into the stream, or rid of it.
func replayAndDiscard(t *testing.T, b Broker) {
	c := connect(t, b)
	want := events(3)
	first := map[uuid.UUID]bool{}
	handled := rejecting(t, c, func(e broker.Event) bool {
		again := first[e.ID]
		first[e.ID] = true
		return !again && e.Subject != "2"
	})
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want))
	receiveAll(t, handled, want[2:])
	after := event(want[0].Workspace, 2) // Handled after the dead letters were written.
	require.NoError(t, c.Publisher().Publish(t.Context(), after))
	receiveAll(t, handled, []broker.Event{after})

	letters, err := c.DeadLetters(t.Context(), "", 0, 100)
	require.NoError(t, err)
	require.Len(t, letters, 2)
	page, err := c.DeadLetters(t.Context(), "", letters[0].Seq, 1)
	require.NoError(t, err)
	require.Equal(t, letters[1:], page)
	none, err := c.DeadLetters(t.Context(), "somebody-else", 0, 100)
	require.NoError(t, err)
	require.Empty(t, none)

	require.NoError(t, c.Replay(t.Context(), letters[0].Seq))
	receiveAll(t, handled, want[:1])
	require.NoError(t, c.Discard(t.Context(), letters[1].Seq))
	require.ErrorIs(t, c.Discard(t.Context(), letters[1].Seq), broker.ErrNotFound)
	require.ErrorIs(t, c.Replay(t.Context(), letters[0].Seq), broker.ErrNotFound)
	letters, err = c.DeadLetters(t.Context(), "", 0, 100)
	require.NoError(t, err)
	require.Empty(t, letters)
}
