package brokertest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

var errInterrupted = errors.New("interrupted")

// rewriting runs a rewriting that is interrupted before each kind of step, until it is done.
func rewriting(t *testing.T, do func(at broker.StreamRewrite, save func(broker.StreamRewrite) error) error) {
	t.Helper()
	var at broker.StreamRewrite
	for attempts := 0; ; attempts++ {
		require.Less(t, attempts, 100)
		saves := 0
		err := do(at, func(next broker.StreamRewrite) error {
			if saves++; saves > 1+attempts%3 {
				return errInterrupted // The next attempt executes the steps since the last save again.
			}
			at = next
			return nil
		})
		if err == nil {
			return
		}
		require.ErrorIs(t, err, errInterrupted)
	}
}

// rewriteEvents: events and dead letters are rewritten in order, whenever the rewriting is interrupted.
func rewriteEvents(t *testing.T, b Broker) {
	c := connect(t, b)
	all := events(150)
	for _, e := range all { // A frame each, so there are several batches.
		require.NoError(t, c.Publisher().Publish(t.Context(), e))
	}
	for _, e := range all[:3] {
		require.NoError(t, c.DeadLetterEvent(t.Context(), broker.DurablePersist, &e, 1, errors.New("no good")))
	}
	for _, stream := range []string{broker.StreamEvents, broker.StreamDeadLetters} {
		rewriting(t, func(at broker.StreamRewrite, save func(broker.StreamRewrite) error) error {
			return c.RewriteEvents(t.Context(), stream, at, save, func(e *broker.Event) error {
				e.Type = strings.Replace(e.Type, "orch.", "prefect.", 1)
				return nil
			})
		})
	}
	for i := range all {
		all[i].Type = "prefect.test.Numbered"
	}
	for _, durable := range []string{broker.DurablePersist, broker.DurableAutomations} {
		got, _ := consume(t, c, durable)
		receiveAll(t, got, all)
		quiet(t, got)
	}
	letters := deadLetters(t, c, broker.DurablePersist)
	require.Len(t, letters, 3)
	for i, letter := range letters {
		require.Equal(t, "no good", letter.Reason)
		require.Equal(t, all[i].Type, letter.Event.Type)
		require.Equal(t, all[i].ID, letter.Event.ID)
	}
	inUse, err := c.InUse(t.Context())
	require.NoError(t, err)
	require.Equal(t, broker.StreamEvents, inUse)
}

// rewriteJournal: the entries of a journal are rewritten in order. A missing journal is no error.
func rewriteJournal(t *testing.T, b Broker) {
	c := connect(t, b)
	upper := func(entry []byte) ([]byte, error) { return []byte(strings.ToUpper(string(entry))), nil }
	rewriting(t, func(at broker.StreamRewrite, save func(broker.StreamRewrite) error) error {
		return c.RewriteJournal(t.Context(), "none", at, save, upper)
	})
	j, err := c.Journal(t.Context(), "rewritten", broker.JournalConfig{})
	require.NoError(t, err)
	for _, entry := range []string{"a", "b"} {
		require.NoError(t, j.Append(t.Context(), []byte(entry)))
	}
	rewriting(t, func(at broker.StreamRewrite, save func(broker.StreamRewrite) error) error {
		return c.RewriteJournal(t.Context(), "rewritten", at, save, upper)
	})
	inUse, err := c.InUse(t.Context())
	require.NoError(t, err)
	require.Empty(t, inUse)

	came := make(chan string)
	background(t, func(ctx context.Context) error {
		return j.Consume(ctx, func(ctx context.Context, entries [][]byte) error {
			for _, entry := range entries {
				send(ctx, came, string(entry))
			}
			return nil
		})
	})
	require.Equal(t, "A", receive(t, came))
	require.Equal(t, "B", receive(t, came))
}
