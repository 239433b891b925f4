package events

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// recording is a persistence whose recorder is given, and a batch of so many events.
func recording(batch int, record func(context.Context, []Received) error) (*persistence, []Received) {
	events := make([]Received, batch)
	for i := range events {
		events[i] = Received{Workspace: uuid.New(), Event: &orchv1.ReceivedEvent{Id: uuid.NewString()}}
	}
	return newPersistence(&Service{record: record}), events
}

// TestAnOutageEndsTheRecordingOfABatch: after the first outage, each further attempt would wait for its deadline.
func TestAnOutageEndsTheRecordingOfABatch(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var attempts []int
	p, events := recording(8, func(_ context.Context, batch []Received) error {
		if attempts = append(attempts, len(batch)); len(batch) > 2 {
			return broken
		}
		return fmt.Errorf("record: %w", store.ErrUnavailable)
	})
	rejected := &broker.Rejected{}
	require.ErrorIs(t, p.record(t.Context(), events, rejected), store.ErrUnavailable)
	require.Equal(t, []int{8, 4, 2}, attempts)
	require.NoError(t, rejected.Err())
}

// TestAnOutageAmongRefusalsEndsTheBatch: the refusal of an event may itself be an outage.
func TestAnOutageAmongRefusalsEndsTheBatch(t *testing.T) {
	t.Parallel()
	recorded := 0
	p, events := recording(4, func(context.Context, []Received) error { recorded++; return nil })
	refused := []store.Refusal{{Position: 0, Err: store.ErrUnavailable}, {Position: 1, Err: store.Permanent(errors.New("too large"))}}
	all := make([]persisted, len(events))
	for i, e := range events {
		all[i] = persisted{e.key(), e.Event}
	}
	require.ErrorIs(t, p.settle(t.Context(), all, refused, &broker.Rejected{}), store.ErrUnavailable)
	require.Zero(t, recorded)
}

// TestRefusalsAreCountedForABoundedNumberOfEvents: events that another process stored leave their counts behind.
func TestRefusalsAreCountedForABoundedNumberOfEvents(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	p, events := recording(maxTracked+1, nil)
	for _, e := range events {
		require.ErrorIs(t, p.refuse(&broker.Rejected{}, e.key(), broken), broken)
	}
	require.Len(t, p.refusals, 1)
	last := events[maxTracked]
	for range maxRefusals - 2 {
		require.ErrorIs(t, p.refuse(&broker.Rejected{}, last.key(), broken), broken)
	}
	require.NoError(t, p.refuse(&broker.Rejected{}, last.key(), broken), "the event is rejected")
}
