package engine

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// follower is an event of a size that follows an unknown one.
func follower(size int) *orchv1.ReceivedEvent {
	e := goEvent(uuid.New())
	e.Payload = append(append([]byte(`{"body":"`), bytes.Repeat([]byte("<"), size)...), `"}`...)
	e.Follows = new(uuid.NewString())
	return e
}

// stored is the number of events that the store has of those that follow others.
func (c *crowd) stored(ws uuid.UUID) int {
	c.Helper()
	n, err := c.deferredEvents.Count(c.Context(), ws, store.Query{Filter: followingFilter})
	require.NoError(c, err)
	return int(n)
}

// held is the number of events that wait in memory, within the bound.
func (c *crowd) held(ws uuid.UUID) int {
	c.Helper()
	t := c.evaluator(ws)
	require.LessOrEqual(c, t.order.DeferredBytes(), trigger.MaxHeldBytes)
	return len(t.order.Deferred())
}

// Large events that follow unknown ones fill the memory of their workspace. The oldest are evaluated, and a replica that takes over has
// the same ones.
func TestLargeEventsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	const n, size, fit = 50, 1_000_000, 33
	c := newCrowd(t)
	ws, other := c.workspace(1), c.workspace(1)
	f := &firing{crowd: c}
	require.NoError(t, c.prepare(t.Context()))
	for range n {
		require.NoError(t, c.handle(t.Context(), []broker.Event{f.send(ws, follower(size)), f.send(other, follower(10))}))
	}
	require.Equal(t, fit, c.held(ws))
	require.Equal(t, fit, c.stored(ws))
	require.Equal(t, n-fit, c.counted(ws), "the oldest are evaluated")
	require.Equal(t, n, c.held(other))
	require.Zero(t, c.counted(other))

	next := &crowd{TB: t, Engine: New(c.Deps), clock: c.clock}
	require.NoError(t, next.prepare(t.Context()))
	require.Equal(t, fit, next.held(ws))
	require.Equal(t, n, next.held(other))
	next.clock.Advance(time.Hour)
	require.NoError(t, next.evaluator(ws).expire(t.Context()))
	require.Equal(t, n, next.counted(ws))
	require.Zero(t, next.stored(ws))
}

// An earlier version held any number of bytes. A replica reads them in pages, and evaluates what exceeds the bound.
func TestHeldEventsOfAnEarlierVersionAreReadInPages(t *testing.T) {
	t.Parallel()
	const n, size, fit = 60, 1_000_000, 33
	c := newCrowd(t)
	ws := c.workspace(1)
	for range n {
		e := follower(size)
		_, err := store.InsertAll(t.Context(), c.deferredEvents, ws, []*orchv1.AutomationHold{{
			Id: c.evaluator(ws).deferredID(uuid.MustParse(e.GetId())).String(), Event: e, Follows: e.GetFollows(), Received: noon.UnixMicro(),
		}})
		require.NoError(t, err)
	}
	require.NoError(t, c.prepare(t.Context()))
	require.Equal(t, fit, c.held(ws))
	require.Equal(t, fit, c.stored(ws))
	require.Equal(t, n-fit, c.counted(ws))
}

// A turn reads a backlog of large events by their bytes.
func TestATurnReadsBytesWithinABound(t *testing.T) {
	t.Parallel()
	const n, size = 20, 1_000_000
	c := newCrowd(t)
	c.batchBudget = 1_000
	ws := c.workspace(1)
	require.NoError(t, c.prepare(t.Context()))
	f := &firing{crowd: c}
	batch := make([]broker.Event, n)
	for i := range batch {
		e := follower(size)
		e.Follows = nil
		batch[i] = f.send(ws, e)
	}
	require.NoError(t, c.evaluator(ws).postpone(t.Context(), FromStream(batch), 0, &broker.Rejected{}))
	var counted []int
	testkit.FillBound(t, "stored events that one turn of automations reads", maxReadBytes, func() bool {
		_, more, err := c.evaluator(ws).firstOfBacklog(t.Context())
		require.NoError(t, err)
		return more
	}, func() (size int) {
		found, _, err := c.evaluator(ws).firstOfBacklog(t.Context())
		require.NoError(t, err)
		for _, h := range found {
			size += proto.Size(h)
		}
		return size
	})
	for more := true; more; {
		var err error
		more, err = c.evaluator(ws).evaluateBacklog(t.Context())
		require.NoError(t, err)
		counted = append(counted, c.counted(ws))
	}
	require.Equal(t, []int{8, 16, 20}, counted)
}

// A workspace without events leaves the memory. Its counts remain, and the next event loads it again.
func TestIdleWorkspacesLeaveTheMemory(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	idle, waits, sampled := c.workspace(1), c.workspace(1), uuid.New()
	_, err := store.InsertAll(t.Context(), c.automations, sampled, []*orchv1.Automation{{
		Id: uuid.NewString(), Enabled: true, Trigger: &orchv1.Trigger{Kind: &orchv1.Trigger_Metric{Metric: &orchv1.MetricTrigger{
			Id: uuid.NewString(), Metric: &orchv1.MetricTriggerQuery{},
		}}},
	}})
	require.NoError(t, err)
	require.NoError(t, c.prepare(t.Context()))
	f := &firing{crowd: c}
	require.NoError(t, c.handle(t.Context(), append(c.events(idle, 2), f.send(waits, follower(1)), f.send(uuid.New(), goEvent(uuid.New())))))
	present := func() map[uuid.UUID]bool {
		all := map[uuid.UUID]bool{}
		c.each(func(t *workspaceEvaluator) bool { all[t.ws] = true; return true })
		return all
	}
	require.Len(t, present(), 4)
	c.clock.Advance(idleFor - time.Second)
	c.dropIdle()
	require.Len(t, present(), 4)
	c.clock.Advance(time.Second)
	require.NoError(t, c.with(idle, func(*workspaceEvaluator) error { c.dropIdle(); return nil }))
	require.Equal(t, map[uuid.UUID]bool{idle: true, waits: true, sampled: true}, present(), "a workspace in use stays")
	c.clock.Advance(idleFor)
	c.dropIdle()
	require.Equal(t, map[uuid.UUID]bool{waits: true, sampled: true}, present())
	require.EqualValues(t, 2, c.populated.Load())

	require.NoError(t, c.handle(t.Context(), c.events(idle, 1)))
	require.EqualValues(t, 3, c.populated.Load())
	require.Equal(t, 3, c.counted(idle))
	n, err := c.deferredEvents.Count(t.Context(), waits, store.Query{})
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

// A full backlog refuses further events of its workspace, and the gauge says so before.
func TestAFullBacklogRefusesEvents(t *testing.T) {
	t.Parallel()
	f := newFiring(t)
	ws := f.workspace()
	one := f.evaluator(ws)
	_, err := one.waiting(t.Context())
	require.NoError(t, err)
	one.backlog.count = maxBacklog - 2
	f.measureBacklogs()
	require.Greater(t, testutil.ToFloat64(f.Metrics.fullest), 0.8)
	require.NoError(t, one.postpone(t.Context(), FromStream(f.events(ws, 5)), 0, &broker.Rejected{}))
	require.Equal(t, maxBacklog, one.backlog.count)
	require.InDelta(t, 3, testutil.ToFloat64(f.Metrics.limited.WithLabelValues(limitBacklog)), 0)
	f.measureBacklogs()
	require.InDelta(t, 1, testutil.ToFloat64(f.Metrics.fullest), 0)
}
