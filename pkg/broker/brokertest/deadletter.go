package brokertest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

// rejecting consumes by a durable name, rejects the events for which reject returns a reason, and returns the others.
func rejecting(t *testing.T, c *broker.Conn, durable string, reject func(broker.Event) error) <-chan broker.Event {
	t.Helper()
	handled := make(chan broker.Event, 1000)
	background(t, func(ctx context.Context) error {
		return c.Consume(ctx, durable, broker.ConsumeOptions{},
			func(_ context.Context, batch []broker.Event) error {
				var rejected broker.Rejected
				for _, e := range batch {
					if reason := reject(e); reason != nil {
						rejected.Reject(e.Key(), reason)
					} else {
						handled <- e
					}
				}
				return rejected.Err()
			})
	})
	return handled
}

// awaitHandled waits until everything published before was handled, and its dead letters were written.
func awaitHandled(t *testing.T, c *broker.Conn, handled <-chan broker.Event, like broker.Event) {
	t.Helper()
	after := event(like.Workspace, 99) // In the order of the workspace it is handled last.
	require.NoError(t, c.Publisher().Publish(t.Context(), after))
	receiveAll(t, handled, []broker.Event{after})
	require.NoError(t, c.WaitHandled(t.Context(), broker.DurablePersist)) // Its batch may have a dead letter that is not written yet.
}

func deadLetters(t *testing.T, c *broker.Conn, durable string) []broker.DeadLetter {
	t.Helper()
	letters, err := c.DeadLetters(t.Context(), durable, 0, 100)
	require.NoError(t, err)
	return letters
}

// deadLetterAlone: rejected events become dead letters, each with its own reason; their frame is acknowledged.
func deadLetterAlone(t *testing.T, b Broker) {
	c := connect(t, b)
	want := events(10)
	reasons := map[broker.Key]error{
		want[4].Key(): errors.New("cannot be\nstored"),
		want[6].Key(): errors.New("names no flow"),
	}
	handled := rejecting(t, c, broker.DurablePersist, func(e broker.Event) error { return reasons[e.Key()] })
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want))
	receiveAll(t, handled, append(append(append([]broker.Event{}, want[:4]...), want[5]), want[7:]...))
	awaitHandled(t, c, handled, want[0])

	letters := deadLetters(t, c, broker.DurablePersist)
	require.Len(t, letters, 2)
	require.Equal(t, "cannot be stored", letters[0].Reason)
	require.Equal(t, "names no flow", letters[1].Reason)
	for i, event := range []broker.Event{want[4], want[6]} {
		letter := letters[i]
		require.Equal(t, broker.DurablePersist, letter.Durable)
		require.False(t, letter.At.IsZero())
		require.Equal(t, broker.Event{ID: event.ID, Workspace: event.Workspace, Type: event.Type}, letter.Event)
		require.Nil(t, letter.Raw, "a list reads no bodies")
		got, err := c.DeadLetter(t.Context(), letter.Seq)
		require.NoError(t, err)
		require.Equal(t, event, got.Event)
		require.NotEmpty(t, got.Raw)
		require.Equal(t, letter.Reason, got.Reason)
	}
	page, err := c.DeadLetters(t.Context(), "", letters[0].Seq, 1)
	require.NoError(t, err)
	require.Equal(t, letters[1:], page)
	none, err := c.DeadLetters(t.Context(), "somebody-else", 0, 100)
	require.NoError(t, err)
	require.Empty(t, none)
	quiet(t, handled)
}

// retryAndDiscard: a retry gives an event to the consumer that rejected it and to nobody else. A second rejection is a new
// dead letter, also at once. A discarded dead letter is gone.
func retryAndDiscard(t *testing.T, b Broker) {
	const other = "other"
	c := connect(t, b, func(cfg *broker.Config) { cfg.Durables = []string{broker.DurablePersist, other} })
	want := events(3)
	bad := want[1]
	failures := make(chan error, 2)
	failures <- errors.New("the first reason")
	failures <- errors.New("the second reason")
	handled := rejecting(t, c, broker.DurablePersist, func(e broker.Event) error {
		if e.ID != bad.ID {
			return nil
		}
		select {
		case err := <-failures:
			return err
		default:
			return nil
		}
	})
	others := rejecting(t, c, other, func(broker.Event) error { return nil })
	require.NoError(t, c.Publisher().PublishAll(t.Context(), want))
	receiveAll(t, others, want)
	receiveAll(t, handled, []broker.Event{want[0], want[2]})
	awaitHandled(t, c, handled, bad)
	<-others

	first := deadLetters(t, c, "")
	require.Len(t, first, 1)
	require.Equal(t, "the first reason", first[0].Reason)
	require.NoError(t, c.RetryDeadLetter(t.Context(), first[0].Seq))
	awaitHandled(t, c, handled, bad)
	<-others
	second := deadLetters(t, c, "")
	require.Len(t, second, 1)
	require.Equal(t, "the second reason", second[0].Reason)
	require.NotEqual(t, first[0].Seq, second[0].Seq)

	results := make(chan error, 4)
	for range cap(results) { // Racing retries publish the event once.
		go func() { results <- c.RetryDeadLetter(t.Context(), second[0].Seq) }()
	}
	for range cap(results) {
		if err := receive(t, results); err != nil {
			require.ErrorIs(t, err, broker.ErrNotFound)
		}
	}
	receiveAll(t, handled, []broker.Event{bad})
	require.Empty(t, deadLetters(t, c, ""))
	quiet(t, handled)
	quiet(t, others)

	failures <- errors.New("the third reason")
	require.NoError(t, c.Publisher().Publish(t.Context(), bad))
	receiveAll(t, others, []broker.Event{bad})
	awaitHandled(t, c, handled, bad)
	last := deadLetters(t, c, "")
	require.Len(t, last, 1)
	require.NoError(t, c.DiscardDeadLetter(t.Context(), last[0].Seq))
	require.ErrorIs(t, c.DiscardDeadLetter(t.Context(), last[0].Seq), broker.ErrNotFound)
	require.ErrorIs(t, c.RetryDeadLetter(t.Context(), last[0].Seq), broker.ErrNotFound)
	_, err := c.DeadLetter(t.Context(), last[0].Seq)
	require.ErrorIs(t, err, broker.ErrNotFound)
}
