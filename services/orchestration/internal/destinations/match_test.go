package destinations

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/automations/match"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// A call stores a bounded number of deliveries, by number and length, and at least those of one event.
func TestACallStoresABoundedNumberOfDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range maxDestinations {
		w.create("http://127.0.0.1:9", func(c *orchv1.DestinationCreate) { c.Enabled = false })
	}
	const length = 40 << 10
	var batch []broker.Event
	for range 12 {
		batch = append(batch, w.event("order.paid", strings.Repeat("x", length)))
	}
	events := engine.FromStream(batch)
	first, err := w.matcher.Queue(t.Context(), w.ws, events, &broker.Rejected{})
	require.NoError(t, err)
	require.Equal(t, 1+queueBudget/(maxDestinations*(1+length/lengthCost)), first)
	rest, err := w.matcher.Queue(t.Context(), w.ws, events[first:], &broker.Rejected{})
	require.NoError(t, err)
	require.Len(t, events, first+rest)
	n, err := w.deliveries.Count(t.Context(), w.ws, store.Query{})
	require.NoError(t, err)
	require.EqualValues(t, maxDestinations*len(events), n)
}

// An event whose name cannot be compared with all patterns of the destinations is rejected with the reason, and the others are delivered.
func TestAnEventThatTakesTooManyComparisonsIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("*%dx", i)
	}
	w.create("http://127.0.0.1:9", func(c *orchv1.DestinationCreate) {
		for len(c.Subscriptions) < 20 {
			c.Subscriptions = append(c.Subscriptions, &orchv1.DestinationSubscription{Events: names})
		}
	})
	long := w.event(strings.Repeat("a", 1<<20), "order.1")
	rejected := &broker.Rejected{}
	n, err := w.matcher.Queue(t.Context(), w.ws, engine.FromStream([]broker.Event{long, w.event("order.paid", "order.1")}), rejected)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.ErrorIs(t, rejected.Reasons[long.Key()], match.ErrEffort)
	count, err := w.deliveries.Count(t.Context(), w.ws, store.Query{})
	require.NoError(t, err)
	require.EqualValues(t, 1, count)
}

// The destinations of a workspace without events leave the memory, and are read again for its next event.
func TestTheMatcherForgetsIdleWorkspaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.create(newReceiver(t, nil).URL)
	w.emit("order.1")
	busy := uuid.New()
	other := func() {
		require.NoError(t, w.queue(busy, []broker.Event{w.event("order.paid", "order.1")}))
	}
	other()
	require.Len(t, w.matcher.workspaces, 2)
	w.clock.Advance(idleWorkspace - examineEvery)
	other()
	require.Len(t, w.matcher.workspaces, 2)
	w.clock.Advance(examineEvery)
	other()
	require.Len(t, w.matcher.workspaces, 1)
	w.emit("order.2")
	require.Len(t, w.log(d), 2)
}

// Deliveries of one batch keep the order of its events, also across changes of destinations, after which they are read again.
func TestDeliveriesKeepTheirOrderAcrossChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.create("http://127.0.0.1:9", func(c *orchv1.DestinationCreate) { c.Enabled = false })
	var batch []broker.Event
	var want []string
	for range 8 {
		e := w.event("order.paid", "order.1")
		batch, want = append(batch, e, w.event("orch.destination.updated", "any")), append(want, e.ID.String())
	}
	require.NoError(t, w.queue(w.ws, batch))
	log := w.log(d)
	slices.SortFunc(log, func(a, b *orchv1.DestinationDelivery) int { return cmp.Compare(a.GetSequence(), b.GetSequence()) })
	var stored []string
	for _, one := range log {
		stored = append(stored, one.GetEventId())
	}
	require.Equal(t, want, stored)
}
