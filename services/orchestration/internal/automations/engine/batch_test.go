package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/match"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// testTurn is the cost of a turn in tests.
const testTurn = 40

// crowd is an engine over a store whose automations count events and never fire, so it needs no broker.
type crowd struct {
	testing.TB
	*Engine
	clock *clock.Manual
}

func newCrowd(t testing.TB) *crowd {
	t.Helper()
	c := &crowd{TB: t, clock: clock.NewManual(noon)}
	c.Engine = New(Deps{
		Store: storetest.Embedded(t, c.clock), Vocabulary: vocabulary.Orch, Log: slog.New(slog.DiscardHandler),
		Account: func(context.Context, uuid.UUID) (uuid.UUID, error) { return uuid.Nil, nil },
	})
	c.batchBudget = testTurn
	return c
}

// workspace returns a workspace with n automations that count every event.
func (c *crowd) workspace(n int) uuid.UUID {
	c.Helper()
	return c.expecting(n, func(int) string { return "*" })
}

// expecting returns a workspace with n automations that count events of a name.
func (c *crowd) expecting(n int, name func(i int) string) uuid.UUID {
	c.Helper()
	ws := uuid.New()
	all := make([]*orchv1.Automation, n)
	for i := range all {
		all[i] = &orchv1.Automation{
			Id: uuid.NewString(), Name: fmt.Sprint(i), Enabled: true, Trigger: &orchv1.Trigger{Kind: &orchv1.Trigger_Event{Event: &orchv1.EventTrigger{
				Id: uuid.NewString(), Expect: []string{name(i)}, Threshold: 1_000_000_000, Posture: orchv1.Posture_POSTURE_REACTIVE,
			}}},
		}
	}
	_, err := store.InsertAll(c.Context(), c.automations, ws, all)
	require.NoError(c, err)
	return ws
}

func (c *crowd) events(ws uuid.UUID, n int) []broker.Event {
	c.Helper()
	batch := make([]broker.Event, n)
	for i := range batch {
		e := goEvent(uuid.New())
		var err error
		batch[i], err = wire.ToBroker(c.Vocabulary, e, ws)
		require.NoError(c, err)
	}
	return batch
}

// counted is how many events the automations of a workspace have counted together.
func (c *crowd) counted(ws uuid.UUID) (n int) {
	c.Helper()
	buckets, err := c.buckets.Find(c.Context(), ws, store.Query{Sort: bson.D{{Key: "_id", Value: 1}}})
	require.NoError(c, err)
	for _, b := range buckets {
		n += int(b.GetCount())
	}
	return n
}

func (c *crowd) waitingOf(ws uuid.UUID) int {
	c.Helper()
	n, err := c.deferredEvents.Count(c.Context(), ws, store.Query{Filter: waitingFilter})
	require.NoError(c, err)
	return int(n)
}

// A workspace whose events meet many automations gets a turn of a batch. The others get theirs in the same batch, and later
// events of the heavy workspace wait behind its backlog.
func TestAWorkspaceEvaluatesATurnOfABatch(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	const many, perTurn = 4, testTurn / 4
	heavy, light := c.workspace(many), c.workspace(1)
	require.NoError(t, c.prepare(t.Context()))
	require.NoError(t, c.handle(t.Context(), append(c.events(heavy, 50), c.events(light, 30)...)))
	require.Equal(t, 30, c.counted(light))
	require.Equal(t, perTurn*many, c.counted(heavy))
	require.Equal(t, 50-perTurn, c.waitingOf(heavy))

	require.NoError(t, c.handle(t.Context(), append(c.events(heavy, 5), c.events(light, 1)...)))
	require.Equal(t, 31, c.counted(light))
	require.Equal(t, 55-perTurn, c.waitingOf(heavy))

	for want := 55 - perTurn; want > 0; {
		more, err := c.evaluator(heavy).evaluateBacklog(t.Context())
		require.NoError(t, err)
		want = max(0, want-perTurn)
		require.Equal(t, want > 0, more)
		require.Equal(t, want, c.waitingOf(heavy))
	}
	require.Equal(t, 55*many, c.counted(heavy))
	require.NoError(t, c.handle(t.Context(), c.events(heavy, 1)))
	require.Zero(t, c.waitingOf(heavy), "without a backlog events are evaluated at once")
}

// A thousand automations take every event of their workspace. Each event costs half a turn, and the other workspace has all of
// its events evaluated in the same batch.
func TestAThousandAutomationsOnEveryEvent(t *testing.T) {
	t.Parallel()
	const many, sent = 1000, 6
	c := newCrowd(t)
	c.batchBudget = batchBudget
	heavy, light := c.workspace(many), c.workspace(1)
	require.NoError(t, c.prepare(t.Context()))
	require.NoError(t, c.handle(t.Context(), append(c.events(heavy, sent), c.events(light, 100)...)))
	require.Equal(t, 100, c.counted(light))
	require.Equal(t, batchBudget, c.counted(heavy))
	for waiting := sent - batchBudget/many; waiting > 0; {
		require.Equal(t, waiting, c.waitingOf(heavy))
		more, err := c.evaluator(heavy).evaluateBacklog(t.Context())
		require.NoError(t, err)
		waiting -= batchBudget / many
		require.Equal(t, waiting > 0, more)
	}
	require.Equal(t, sent*many, c.counted(heavy))
}

// One event that costs more than a turn is not evaluated in a batch, and alone in a turn.
func TestAnEventThatExceedsATurnIsDeferred(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	heavy, light := c.workspace(testTurn+1), c.workspace(1)
	require.NoError(t, c.prepare(t.Context()))
	require.NoError(t, c.handle(t.Context(), append(c.events(heavy, 2), c.events(light, 1)...)))
	require.Equal(t, 1, c.counted(light))
	require.Zero(t, c.counted(heavy))
	for want := 1; want >= 0; want-- {
		more, err := c.evaluator(heavy).evaluateBacklog(t.Context())
		require.NoError(t, err)
		require.Equal(t, want > 0, more)
		require.Equal(t, want, c.waitingOf(heavy))
	}
	require.Equal(t, 2*(testTurn+1), c.counted(heavy))
}

// The only workspace with automations delays nobody, so nothing of it is deferred.
func TestALoneWorkspaceHasNoBounds(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	ws := c.workspace(testTurn / 10)
	require.NoError(t, c.prepare(t.Context()))
	require.NoError(t, c.handle(t.Context(), append(c.events(ws, 20), c.events(uuid.New(), 1)...)))
	require.Equal(t, 20*testTurn/10, c.counted(ws))
	require.Zero(t, c.waitingOf(ws))
}

// A backlog outlives the process, and duplicates of its events are dropped.
func TestABacklogOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	heavy := c.workspace(testTurn + 1)
	c.workspace(1)
	require.NoError(t, c.prepare(t.Context()))
	batch := c.events(heavy, 3)
	require.NoError(t, c.handle(t.Context(), batch))

	next := &crowd{TB: t, Engine: New(c.Deps), clock: c.clock}
	next.batchBudget = testTurn
	require.NoError(t, next.prepare(t.Context()))
	require.NoError(t, next.handle(t.Context(), batch), "the batch is delivered again")
	require.Equal(t, 3, next.waitingOf(heavy))
	for more := true; more; {
		var err error
		more, err = next.evaluator(heavy).evaluateBacklog(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, 3*(testTurn+1), next.counted(heavy))
}

// drain evaluates the backlogs of a term in the background.
func TestATermDrainsBacklogs(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	heavy := []uuid.UUID{c.workspace(testTurn + 1), c.workspace(testTurn + 1)}
	ctx, end := context.WithCancel(t.Context())
	current := &leadership{ctx: ctx}
	c.setLeadership(current)
	require.NoError(t, c.prepare(ctx))
	require.NoError(t, c.handle(ctx, append(c.events(heavy[0], 2), c.events(heavy[1], 2)...)))
	for _, ws := range heavy {
		require.Eventually(t, func() bool { return c.waitingOf(ws) == 0 }, time.Minute, 5*time.Millisecond)
	}
	end()
	current.group.Wait()
	require.False(t, c.spawn(func(context.Context) { t.Error("the term is over") }))
}

// A window that may count an event of the backlog is not ended before that event is evaluated.
func TestWindowsWaitForTheBacklog(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	heavy := c.workspace(testTurn + 1)
	c.workspace(1)
	require.NoError(t, c.prepare(t.Context()))
	require.NoError(t, c.handle(t.Context(), c.events(heavy, 1)))
	before := &timer{workspace: heavy, bucket: uuid.New(), due: noon.UnixMicro()}
	after := &timer{workspace: heavy, bucket: uuid.New(), due: noon.UnixMicro() + 1}
	c.clock.Advance(time.Minute)
	now, early := c.evaluator(heavy).backlog.split([]*timer{before, after})
	require.Equal(t, []*timer{before}, now)
	require.Equal(t, []*timer{after}, early)
	_, err := c.evaluator(heavy).evaluateBacklog(t.Context())
	require.NoError(t, err)
	now, early = c.evaluator(heavy).backlog.split([]*timer{before, after})
	require.Len(t, now, 2)
	require.Empty(t, early)
}

// Workspaces have equal shares of the timers that are served at once.
func TestTimersAreSharedAmongWorkspaces(t *testing.T) {
	t.Parallel()
	var all timers
	all.reset()
	add := func(ws uuid.UUID, due int64) {
		all.set(ws, &orchv1.AutomationBucket{Id: uuid.NewString(), TriggerId: uuid.NewString(), Due: proto.Int64(due)})
	}
	heavy, light := uuid.New(), uuid.New()
	for range 1000 {
		add(heavy, 10)
	}
	add(light, 20)
	add(light, 50)
	due, next := all.take(30, 100)
	taken := map[uuid.UUID]int{}
	for _, one := range due {
		taken[one.workspace]++
	}
	require.Equal(t, map[uuid.UUID]int{heavy: 50, light: 1}, taken)
	require.EqualValues(t, 10, next)
	for n := 950; n > 0; n -= len(due) {
		due, next = all.take(30, 100)
		require.Len(t, due, min(n, 100))
	}
	require.EqualValues(t, 50, next)
	require.Equal(t, 1, all.size())
	due, next = all.take(30, 100)
	require.Empty(t, due)
	require.EqualValues(t, 50, next)
}

// A change reads the automations that it concerns, and leaves the others as they are.
func TestAChangeReadsWhatItConcerns(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	ws := c.workspace(3)
	require.NoError(t, c.prepare(t.Context()))
	one := c.evaluator(ws)
	before := maps.Clone(one.set.Automations())
	ids := slices.Collect(maps.Keys(before))
	changed, deleted, created := ids[0], ids[1], uuid.New()
	_, err := c.automations.Mutate(t.Context(), ws, changed, store.Edit(func(a *orchv1.Automation) error {
		a.Name = "changed"
		return nil
	}, nil))
	require.NoError(t, err)
	require.NoError(t, c.automations.DeleteMany(t.Context(), ws, bson.D{{Key: "_id", Value: store.Binary(deleted)}}))
	a := proto.CloneOf(before[ids[2]].Message)
	a.Id, a.Name = created.String(), "created"
	_, err = store.InsertAll(t.Context(), c.automations, ws, []*orchv1.Automation{a})
	require.NoError(t, err)

	var batch []broker.Event
	for verb, id := range map[string]uuid.UUID{"updated": changed, "deleted": deleted, "created": created} {
		e := goEvent(uuid.New())
		e.Event = c.Vocabulary.Name("automation", verb)
		e.Resource.Labels[c.Vocabulary.ResourceID()] = c.Vocabulary.Name("automation", id.String())
		sent, err := wire.ToBroker(c.Vocabulary, e, ws)
		require.NoError(t, err)
		batch = append(batch, sent)
	}
	require.NoError(t, c.handle(t.Context(), batch))
	require.Len(t, one.set.Automations(), 3)
	require.Equal(t, "changed", one.set.Automation(changed).Message.GetName())
	require.Equal(t, "created", one.set.Automation(created).Message.GetName())
	require.Nil(t, one.set.Automation(deleted))
	require.Same(t, before[ids[2]], one.set.Automation(ids[2]), "it is not read again")
}

// The permanent failure of one event of a backlog is the only one that is reported.
func TestATurnReportsItsRejectedEvents(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	heavy := c.workspace(1)
	one := c.evaluator(heavy)
	rejected := &broker.Rejected{}
	unreadable := broker.Event{Workspace: heavy, ID: uuid.New(), Type: "go", Data: []byte("{")}
	require.NoError(t, one.postpone(t.Context(), FromStream(append(c.events(heavy, 1), unreadable)), 0, rejected))
	require.Len(t, rejected.Reasons, 1)
	require.Contains(t, rejected.Reasons, unreadable.Key())
	require.Equal(t, 1, c.waitingOf(heavy))
}

// Events of the stream are evaluated in their order, also across the backlog.
func TestABacklogKeepsTheOrder(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	heavy := c.workspace(1)
	var want []string
	for range 3 {
		batch := c.events(heavy, 4)
		for _, e := range batch {
			want = append(want, e.ID.String())
		}
		require.NoError(t, c.evaluator(heavy).postpone(t.Context(), FromStream(batch), 0, &broker.Rejected{}))
	}
	found, err := c.deferredEvents.Find(t.Context(), heavy, store.Query{Filter: waitingFilter, Sort: bson.D{{Key: "_id", Value: 1}}})
	require.NoError(t, err)
	bySequence := map[int64]string{}
	for _, h := range found {
		bySequence[h.GetSequence()] = h.GetEvent().GetId()
	}
	first, err := c.evaluator(heavy).end(t.Context(), 1)
	require.NoError(t, err)
	var got []string
	for i := range int64(len(want)) {
		got = append(got, bySequence[first.GetSequence()+i])
	}
	require.Equal(t, want, got)
}

// BenchmarkAutomationsThatTakeNoEvent measures the evaluation of events that no automation takes, per event. It is what the
// ingestion of events costs because of automations.
func BenchmarkAutomationsThatTakeNoEvent(b *testing.B) {
	for _, n := range []int{0, 100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := newCrowd(b)
			ws := c.expecting(n, func(i int) string { return fmt.Sprintf("shop.order-%d.paid", i) })
			require.NoError(b, c.prepare(b.Context()))
			batch := c.events(ws, maxBatch)
			require.NoError(b, c.handle(b.Context(), batch))
			for b.Loop() {
				if err := c.handle(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/maxBatch, "ns/event")
		})
	}
}

// BenchmarkAutomationsThatChange measures what the change of one automation costs in a workspace with many.
func BenchmarkAutomationsThatChange(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := newCrowd(b)
			ws := c.expecting(n, func(i int) string { return fmt.Sprintf("shop.order-%d.paid", i) })
			require.NoError(b, c.prepare(b.Context()))
			one := c.evaluator(ws)
			changed := []uuid.UUID{slices.Collect(maps.Keys(one.set.Automations()))[0]}
			for b.Loop() {
				if err := one.reload(b.Context(), changed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// deliveries are subscriptions that take a few events in each call.
type deliveries struct {
	perCall int
	taken   []string
}

func (*deliveries) Reset() {}

func (d *deliveries) Queue(_ context.Context, _ uuid.UUID, events []Incoming, _ *broker.Rejected) (int, error) {
	n := min(d.perCall, len(events))
	for i := range events[:n] {
		d.taken = append(d.taken, events[i].ID().String())
	}
	return n, nil
}

// Deliveries are stored once for each event, in the order of the stream, however many turns store them.
func TestDeliveriesKeepTheOrderOfTheStream(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ perCall, budget int }{
		"few deliveries in a turn, many evaluations": {3, 1000},
		"many deliveries in a turn, few evaluations": {1000, 8},
		"few of both":     {5, 12},
		"all in one turn": {1000, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t)
			taking := &deliveries{perCall: test.perCall}
			c.Subscriptions, c.batchBudget = taking, test.budget
			busy := c.workspace(4)
			c.workspace(1) // A turn has no budget in a single workspace.
			require.NoError(t, c.prepare(t.Context()))
			var want []string
			for range 3 {
				batch := c.events(busy, 10)
				for _, e := range batch {
					want = append(want, e.ID.String())
				}
				require.NoError(t, c.handle(t.Context(), batch))
			}
			for c.waitingOf(busy) > 0 {
				_, err := c.evaluator(busy).evaluateBacklog(t.Context())
				require.NoError(t, err)
			}
			require.Equal(t, want, taking.taken)
			require.Equal(t, 4*len(want), c.counted(busy))
			undelivered, err := c.evaluator(busy).undelivered(t.Context())
			require.NoError(t, err)
			require.False(t, undelivered)
		})
	}
}

// A workspace whose automations are in quarantine has its events delivered.
func TestDeliveriesDoNotWaitForAQuarantine(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	taking := &deliveries{perCall: 100}
	c.Subscriptions = taking
	ws := c.workspace(1)
	require.NoError(t, c.prepare(t.Context()))
	require.True(t, c.evaluator(ws).failed(t.Context(), errors.New("a document of a newer version")))
	for range 2 {
		require.NoError(t, c.handle(t.Context(), c.events(ws, 10)))
	}
	require.Len(t, taking.taken, 20)
	require.Equal(t, 20, c.waitingOf(ws))
}

// An event whose labels cannot be compared with all patterns is rejected with the reason. The other events are evaluated.
func TestAnEventThatTakesTooManyComparisonsIsRejected(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	ws := uuid.New()
	all := make([]*orchv1.Automation, 200)
	for i := range all {
		all[i] = &orchv1.Automation{
			Id: uuid.NewString(), Name: fmt.Sprint(i), Enabled: true, Trigger: &orchv1.Trigger{Kind: &orchv1.Trigger_Event{Event: &orchv1.EventTrigger{
				Id: uuid.NewString(), Expect: []string{"*"}, Threshold: 1_000_000_000, Posture: orchv1.Posture_POSTURE_REACTIVE,
				Match: &orchv1.ResourceSpecification{Labels: map[string]*orchv1.StringOrList{
					"orch.resource.id": {Kind: &orchv1.StringOrList_StringValue{StringValue: "*"}},
					"text":             {Kind: &orchv1.StringOrList_StringValue{StringValue: "*x"}},
				}},
			}}},
		}
	}
	_, err := store.InsertAll(t.Context(), c.automations, ws, all)
	require.NoError(t, err)
	require.NoError(t, c.prepare(t.Context()))
	event := func(text string) broker.Event {
		e := goEvent(uuid.New())
		e.Resource.Labels["text"] = text
		sent, err := wire.ToBroker(c.Vocabulary, e, ws)
		require.NoError(t, err)
		return sent
	}
	long := event(strings.Repeat("a", 1<<20))
	var rejected *broker.Rejected
	require.ErrorAs(t, c.handle(t.Context(), []broker.Event{event("x"), long, event("ax")}), &rejected)
	require.Len(t, rejected.Reasons, 1)
	require.ErrorIs(t, rejected.Reasons[long.Key()], match.ErrEffort)
	require.Equal(t, 2*len(all), c.counted(ws))
}
