package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/hourtotals"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// hourClock is the clock of the primary in a test.
type hourClock struct{ ahead atomic.Int64 }

func (c *hourClock) Now(context.Context) (time.Time, error) {
	return time.Now().Add(time.Duration(c.ahead.Load())), nil
}

func (c *hourClock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// totalled is a store with hour totals, and a clock that ends openings.
type totalled struct {
	*store.Store
	database *mongotest.Database
	clock    *hourClock
	keeper   *hourtotals.Keeper
	registry *prometheus.Registry
}

func newTotalled(tb testing.TB) *totalled {
	tb.Helper()
	w := &totalled{database: mongotest.Open(tb, embeddedmongo.Options{NoSync: true}), clock: &hourClock{}, registry: prometheus.NewRegistry()}
	var err error
	w.Store, err = store.Open(tb.Context(), store.Config{
		URI: w.database.URI, Database: w.database.Name, Dialer: w.database.Dialer, Clock: clock.System{}, IDs: id.System(), HourClock: w.clock,
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, w.Close(context.WithoutCancel(tb.Context()))) })
	require.NoError(tb, w.EnsureIndexes(tb.Context(), query.Indexes()))
	w.Totals().Trust(time.Time{})
	w.keeper = hourtotals.NewKeeper(w.Totals(), slog.Default(), w.registry, w.Store)
	return w
}

// count ends all openings and counts all hours.
func (w *totalled) count(tb testing.TB) int {
	tb.Helper()
	w.clock.advance(5 * time.Minute)
	n, err := w.keeper.Pass(tb.Context())
	require.NoError(tb, err)
	return n
}

// withRows returns the number of stored hours with rows.
func (w *totalled) withRows(tb testing.TB) int {
	tb.Helper()
	n, err := w.database.Connect().Collection(hourtotals.CollectionName).CountDocuments(tb.Context(), bson.D{{Key: "rows", Value: bson.D{{Key: "$exists", Value: true}}}})
	require.NoError(tb, err)
	return int(n)
}

// same requires that a count is the number of the documents that match.
func (w *totalled) same(tb testing.TB, collection query.Collection, ws uuid.UUID, filter bson.D, because string) int64 {
	tb.Helper()
	n, err := w.Reader().Count(tb.Context(), collection, query.Scope(ws, filter), 0)
	require.NoError(tb, err)
	want, err := w.database.Connect().Collection(string(collection)).CountDocuments(tb.Context(), query.Scope(ws, filter))
	require.NoError(tb, err)
	require.Equal(tb, want, n, "%s: %v", because, filter)
	return n
}

// began is the time of the tests: hours do not move while they run.
var began = time.Now()

// oldHour is the beginning of an hour that is over for long.
func oldHour(ago int) time.Time {
	return began.Add(-time.Duration(ago) * time.Hour).Truncate(time.Hour)
}

func oldRun(number int, expected time.Time) *orchv1.FlowRun {
	run := aged(number, expected)
	run.EndTime = timestamppb.New(expected.Add(time.Minute))
	return run
}

// TestEveryWriteOpensItsHour: each method that changes, inserts or deletes runs removes the rows of the hours of the runs first.
func TestEveryWriteOpensItsHour(t *testing.T) {
	t.Parallel()
	w := newTotalled(t)
	ctx := t.Context()
	c := store.NewCollection(w.Store, query.FlowRun, &orchv1.FlowRun{}, store.VersionCache)
	for name, write := range map[string]struct {
		do func(ws uuid.UUID, run *orchv1.FlowRun) error
		// opens is the number of hours that lose their rows: of the run's hour, and perhaps another.
		opens int
	}{
		"insert": {func(ws uuid.UUID, _ *orchv1.FlowRun) error { return c.Insert(ctx, ws, oldRun(7, oldHour(5))) }, 1},
		"insert all": {func(ws uuid.UUID, _ *orchv1.FlowRun) error {
			_, err := store.InsertAll(ctx, c, ws, []*orchv1.FlowRun{oldRun(7, oldHour(5)), oldRun(8, oldHour(4))})
			return err
		}, 2},
		"insert new": {func(ws uuid.UUID, _ *orchv1.FlowRun) error {
			doc, err := store.NewDocument(ws, oldRun(9, oldHour(5)), time.Time{})
			require.NoError(t, err)
			return c.InsertNew(ctx, []bson.Raw{doc})
		}, 1},
		"insert storable": {func(ws uuid.UUID, _ *orchv1.FlowRun) error {
			doc, err := store.NewDocument(ws, oldRun(9, oldHour(5)), time.Time{})
			require.NoError(t, err)
			_, _, err = store.InsertEach(ctx, c, []bson.Raw{doc})
			return err
		}, 1},
		"change of the state": {func(ws uuid.UUID, run *orchv1.FlowRun) error {
			_, err := c.Mutate(ctx, ws, uuid.MustParse(run.GetId()), func(current *orchv1.FlowRun, _ int64) (*store.Change[*orchv1.FlowRun], error) {
				next := proto.CloneOf(current)
				next.State.Name = new("Other")
				return &store.Change[*orchv1.FlowRun]{Message: next}, nil
			})
			return err
		}, 1},
		"change of the time": {func(ws uuid.UUID, run *orchv1.FlowRun) error {
			_, err := c.Mutate(ctx, ws, uuid.MustParse(run.GetId()), func(current *orchv1.FlowRun, _ int64) (*store.Change[*orchv1.FlowRun], error) {
				next := proto.CloneOf(current)
				next.ExpectedStartTime = timestamppb.New(oldHour(4))
				return &store.Change[*orchv1.FlowRun]{Message: next}, nil
			})
			return err
		}, 2},
		"change of a name": {func(ws uuid.UUID, run *orchv1.FlowRun) error {
			_, err := c.Mutate(ctx, ws, uuid.MustParse(run.GetId()), func(current *orchv1.FlowRun, _ int64) (*store.Change[*orchv1.FlowRun], error) {
				next := proto.CloneOf(current)
				next.Name = "other"
				return &store.Change[*orchv1.FlowRun]{Message: next}, nil
			})
			return err
		}, 0},
		"replacement": {func(ws uuid.UUID, run *orchv1.FlowRun) error {
			read, err := store.FindVersions(ctx, c, ws, bson.D{{Key: "_id", Value: store.Binary(uuid.MustParse(run.GetId()))}})
			require.NoError(t, err)
			next := proto.CloneOf(read[0].Message)
			next.State.Name = new("Other")
			_, _, err = store.ReplaceAll(ctx, c, ws, []store.Replacement[*orchv1.FlowRun]{{Read: read[0], Next: next}, {Next: oldRun(10, oldHour(4))}})
			return err
		}, 2},
		"change of several": {func(_ uuid.UUID, run *orchv1.FlowRun) error {
			read, err := c.FindAcross(ctx, store.Query{Filter: bson.D{{Key: "_id", Value: store.Binary(uuid.MustParse(run.GetId()))}}, Sort: bson.D{{Key: "_id", Value: 1}}, Limit: 1})
			require.NoError(t, err)
			next := proto.CloneOf(read[0].Message)
			next.State.Name = new("Other")
			_, err = store.ChangeAll(ctx, c, []store.Update[*orchv1.FlowRun]{{Read: read[0], Change: &store.Change[*orchv1.FlowRun]{Message: next}}})
			return err
		}, 1},
		"deletion": {func(ws uuid.UUID, run *orchv1.FlowRun) error {
			return c.Delete(ctx, ws, uuid.MustParse(run.GetId()), func(*orchv1.FlowRun) ([]store.Effect, error) { return nil, nil })
		}, 1},
		"deletion of matches": {func(ws uuid.UUID, run *orchv1.FlowRun) error {
			return c.DeleteMany(ctx, ws, bson.D{{Key: "name", Value: run.GetName()}})
		}, 1},
		"deletion of the oldest": {func(ws uuid.UUID, _ *orchv1.FlowRun) error {
			_, err := store.DeleteOldest(ctx, c, ws, nil, "end_time", 1)
			return err
		}, 1},
		"deletion of versions": {func(ws uuid.UUID, _ *orchv1.FlowRun) error {
			read, err := store.Oldest(ctx, c, ws, nil, "end_time", false, []string{"end_time"}, 1)
			require.NoError(t, err)
			_, err = store.DeleteVersions(ctx, c, ws, read, func(*orchv1.FlowRun) []store.Effect { return nil })
			return err
		}, 1},
		"removal of revisions": {func(ws uuid.UUID, run *orchv1.FlowRun) error {
			_, err := store.RemoveRevisions(ctx, c, ws, []store.Revision{{ID: uuid.MustParse(run.GetId()), Revision: 1}})
			return err
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ws := uuid.New()
			run := oldRun(1, oldHour(5)) // The oldest, and alone in its hour.
			_, err := store.InsertAll(ctx, c, ws, []*orchv1.FlowRun{run, oldRun(2, oldHour(4)), oldRun(3, oldHour(3))})
			require.NoError(t, err, name)
			w.count(t)
			before := w.withRows(t)
			require.GreaterOrEqual(t, before, 3, name)
			w.same(t, query.FlowRun, ws, bson.D{}, name)
			require.NoError(t, write.do(ws, run), name)
			require.Equal(t, before-write.opens, w.withRows(t), name)
			w.same(t, query.FlowRun, ws, bson.D{}, name)
			w.count(t)
			w.same(t, query.FlowRun, ws, bson.D{}, name)
			require.NoError(t, w.Clear(ctx, ws, []query.Collection{query.FlowRun}), name)
			require.Zero(t, w.withRows(t), name)
		})
	}
}

// TestRowsAgreeWithDocuments: filters that rows decide count what the database finds, whatever the states of the runs.
func TestRowsAgreeWithDocuments(t *testing.T) {
	t.Parallel()
	w := newTotalled(t)
	c, ws := store.NewCollection(w.Store, query.FlowRun, &orchv1.FlowRun{}), uuid.New()
	const runs, hours = 2000, 50
	var batch []*orchv1.FlowRun
	for i := range runs {
		run := oldRun(i, time.Now().Add(-time.Duration(rand.Int64N(int64(hours*time.Hour)))))
		switch i % 10 {
		case 0:
			run.State = nil
		case 1:
			run.State.Name = nil
		case 2:
			run.ParentTaskRunId = new(uuid.NewString())
		case 3:
			run.StartTime = nil
		case 4:
			run.State.Type = orchv1.StateType_STATE_TYPE_RUNNING
		case 5:
			run.State.Name = new(fmt.Sprint("State ", i%3))
		}
		batch = append(batch, run)
	}
	_, err := store.InsertAll(t.Context(), c, ws, batch)
	require.NoError(t, err)
	require.Positive(t, w.count(t))
	require.Greater(t, w.withRows(t), hours-5)
	field := func(name string, value any) bson.E { return bson.E{Key: name, Value: value} }
	in := func(texts ...any) bson.D { return bson.D{{Key: "$in", Value: append(bson.A{}, texts...)}} }
	for range 3 {
		from, until := time.Now().Add(-time.Duration(rand.IntN(hours))*time.Hour), time.Now().Add(-time.Duration(rand.IntN(10))*time.Hour)
		window := field("expected_start_time", bson.D{{Key: "$gte", Value: from.UnixMicro()}, {Key: "$lte", Value: until.UnixMicro()}})
		for _, filter := range []bson.D{
			{},
			{window},
			{field("state.type", in("COMPLETED", "FAILED"))},
			{field("state.type", in("COMPLETED", "RUNNING")), window},
			{field("state.type", in())},
			{field("state.type", "RUNNING")},
			{field("state.name", in("State 1", "Failed")), window},
			{field("state.name", bson.D{{Key: "$nin", Value: bson.A{"Completed", nil}}})},
			{field("state.name", bson.D{{Key: "$nin", Value: bson.A{"Completed"}}})},
			{field("parent_task_run_id", bson.D{{Key: "$eq", Value: nil}}), window},
			{field("parent_task_run_id", bson.D{{Key: "$ne", Value: nil}})},
			{field("expected_start_time", bson.D{{Key: "$gt", Value: from.UnixMicro()}})},
			{field("expected_start_time", bson.D{{Key: "$lt", Value: until.UnixMicro()}})},
		} {
			raw, err := bson.Marshal(query.Scope(ws, filter))
			require.NoError(t, err)
			_, decided := hourtotals.Parse(query.FlowRun, raw)
			require.True(t, decided, "%v", filter)
			w.same(t, query.FlowRun, ws, filter, "rows")
		}
	}
	raw, err := bson.Marshal(query.Scope(ws, bson.D{}))
	require.NoError(t, err)
	q, _ := hourtotals.Parse(query.FlowRun, raw)
	var visited int64
	_, err = w.Totals().Visit(t.Context(), q, time.Now(), func(_ hourtotals.Hour, r hourtotals.Row) { visited += r.Count })
	require.NoError(t, err)
	require.Greater(t, visited, int64(runs*9/10))
}

// TestWindowsOfClientsAreDecidedByRows: a window that a client sends is one range, whichever way it is sent.
func TestWindowsOfClientsAreDecidedByRows(t *testing.T) {
	t.Parallel()
	w := newTotalled(t)
	at := timestamppb.Now()
	plan, err := query.NewPlan(query.FlowRun, &orchv1.FlowRunCountQuery{FlowRuns: &orchv1.FlowRunFilter{
		ExpectedStartTime: &orchv1.TimeFilter{After_: at, Before_: at},
		ParentTaskRunId:   &orchv1.OptionalUuidFilter{IsNull_: new(true)},
	}})
	require.NoError(t, err)
	selection, err := w.Resolver().Select(t.Context(), uuid.New(), plan)
	require.NoError(t, err)
	filter, complete := selection.Filter()
	require.True(t, complete)
	raw, err := bson.Marshal(filter)
	require.NoError(t, err)
	_, decided := hourtotals.Parse(query.FlowRun, raw)
	require.True(t, decided, "%v", filter)
}

// TestHistoriesByHours: a history in buckets of hours has the same counts and sums with hour totals and without.
func TestHistoriesByHours(t *testing.T) {
	t.Parallel()
	w := newTotalled(t)
	c, ws := store.NewCollection(w.Store, query.FlowRun, &orchv1.FlowRun{}), uuid.New()
	var batch []*orchv1.FlowRun
	for i := range 600 {
		run := oldRun(i, oldHour(30).Add(time.Duration(i)*3*time.Minute))
		switch i % 5 {
		case 0:
			run.StartTime = nil
		case 1:
			run.StartTime = timestamppb.New(run.GetExpectedStartTime().AsTime().Add(1500 * time.Millisecond))
		case 2:
			run.State.Type, run.State.Name = orchv1.StateType_STATE_TYPE_RUNNING, nil
		case 3:
			run.State.Type, run.StartTime = orchv1.StateType_STATE_TYPE_PENDING, nil
		}
		if i == 7 {
			run.State = nil
		}
		batch = append(batch, run)
	}
	batch[2].State.Timestamp = timestamppb.New(began.Add(time.Hour)) // Of a clock that is ahead.
	_, err := store.InsertAll(t.Context(), c, ws, batch)
	require.NoError(t, err)
	w.count(t)
	for name, span := range map[string]runs.Span{
		"hours":    {Start: oldHour(30), End: oldHour(-1), Interval: time.Hour},
		"days":     {Start: oldHour(40), End: oldHour(-1), Interval: 24 * time.Hour},
		"part":     {Start: oldHour(20), End: oldHour(3), Interval: 5 * time.Hour},
		"not even": {Start: oldHour(20).Add(time.Minute), End: oldHour(3), Interval: time.Hour},
		"minutes":  {Start: oldHour(20), End: oldHour(3), Interval: 90 * time.Minute},
	} {
		for filter, q := range map[string]*orchv1.FlowRunCountQuery{
			"all": {}, "types": {FlowRuns: &orchv1.FlowRunFilter{State: &orchv1.FlowRunFilterState{Type: &orchv1.StateTypeFilter{Any_: &orchv1.StateTypeList{Values: []orchv1.StateType{orchv1.StateType_STATE_TYPE_RUNNING}}}}}},
			"names": {FlowRuns: &orchv1.FlowRunFilter{Name: &orchv1.NameFilter{Like_: new("run-1")}}},
		} {
			plan, err := query.NewPlan(query.FlowRun, q)
			require.NoError(t, err)
			selection, err := w.Resolver().Select(t.Context(), ws, plan)
			require.NoError(t, err)
			want, err := runs.Buckets(t.Context(), selection, nil, span, began)
			require.NoError(t, err)
			got, err := runs.Buckets(t.Context(), selection, w.Totals(), span, began)
			require.NoError(t, err)
			require.Len(t, got.GetHistory(), len(want.GetHistory()))
			for i, bucket := range want.GetHistory() {
				require.Len(t, got.GetHistory()[i].GetStates(), len(bucket.GetStates()), "%s of %s", name, filter)
				for n, state := range bucket.GetStates() {
					other := got.GetHistory()[i].GetStates()[n]
					require.Equal(t, state.GetCountRuns(), other.GetCountRuns())
					require.Equal(t, state.GetStateType(), other.GetStateType())
					require.InDelta(t, state.GetSumEstimatedRunTime(), other.GetSumEstimatedRunTime(), 1e-3, "%s of %s: %v", name, filter, state)
					require.InDelta(t, state.GetSumEstimatedLateness(), other.GetSumEstimatedLateness(), 1e-3, "%s of %s: %v", name, filter, state)
				}
			}
		}
	}
}

// TestHoursBesideWriters: while writers change runs of old hours and counters count them, every hour with rows has the runs that it counts.
func TestHoursBesideWriters(t *testing.T) {
	t.Parallel()
	w := newTotalled(t)
	c, ws := store.NewCollection(w.Store, query.FlowRun, &orchv1.FlowRun{}), uuid.New()
	const hours, each, writers = 24, 5, 4
	var ids []uuid.UUID
	var batch []*orchv1.FlowRun
	for i := range hours * each {
		run := oldRun(i, oldHour(2+i%hours))
		ids, batch = append(ids, uuid.MustParse(run.GetId())), append(batch, run)
	}
	_, err := store.InsertAll(t.Context(), c, ws, batch)
	require.NoError(t, err)
	for round := range 5 {
		w.clock.advance(5 * time.Minute) // All hours may be counted.
		var group sync.WaitGroup
		for range writers {
			group.Go(func() {
				for range 20 {
					_, err := c.Mutate(t.Context(), ws, ids[rand.IntN(len(ids))], func(current *orchv1.FlowRun, revision int64) (*store.Change[*orchv1.FlowRun], error) {
						next := proto.CloneOf(current)
						next.State.Type = []orchv1.StateType{orchv1.StateType_STATE_TYPE_FAILED, orchv1.StateType_STATE_TYPE_COMPLETED}[revision%2]
						return &store.Change[*orchv1.FlowRun]{Message: next}, nil
					})
					require.NoError(t, err)
				}
			})
		}
		for range 2 {
			group.Go(func() {
				keeper := hourtotals.NewKeeper(w.Totals(), slog.Default(), prometheus.NewRegistry(), w.Store)
				for range 5 {
					_, err := keeper.Pass(t.Context())
					require.NoError(t, err)
				}
			})
		}
		group.Go(func() {
			for range 50 {
				n, err := c.Count(t.Context(), ws, store.Query{})
				require.NoError(t, err)
				require.EqualValues(t, hours*each, n)
			}
		})
		group.Wait()
		for _, state := range []string{"FAILED", "COMPLETED", "PENDING"} {
			w.same(t, query.FlowRun, ws, bson.D{{Key: "state.type", Value: state}}, fmt.Sprint("round ", round))
		}
	}
	w.count(t)
	require.GreaterOrEqual(t, w.withRows(t), hours)
	for h := range hours {
		wrong, err := w.Totals().Check(t.Context(), ws, hourtotals.KindOf(query.FlowRun), hourtotals.HourOf(oldHour(2+h).UnixMicro()), false)
		require.NoError(t, err)
		require.False(t, wrong)
	}
}

// TestWrongRowsAreRepaired: the keeper counts a stored hour again, and repairs and counts what differs.
func TestWrongRowsAreRepaired(t *testing.T) {
	t.Parallel()
	w := newTotalled(t)
	c, ws := store.NewCollection(w.Store, query.FlowRun, &orchv1.FlowRun{}), uuid.New()
	run := oldRun(1, oldHour(2))
	_, err := store.InsertAll(t.Context(), c, ws, []*orchv1.FlowRun{run})
	require.NoError(t, err)
	require.Positive(t, w.count(t))
	// A write that nobody announced.
	_, err = w.database.Connect().Collection(string(query.FlowRun)).DeleteOne(t.Context(), bson.D{{Key: "_id", Value: store.Binary(uuid.MustParse(run.GetId()))}})
	require.NoError(t, err)
	_, err = store.InsertAll(t.Context(), c, ws, []*orchv1.FlowRun{oldRun(2, oldHour(4))})
	require.NoError(t, err)
	hour := hourtotals.HourOf(oldHour(2).UnixMicro())
	for since, want := range map[time.Time]int{{}: 1, oldHour(2): 1, oldHour(1): 0} {
		var wrong []hourtotals.StoredHour
		_, err := w.Totals().CheckAll(t.Context(), since, false, func(h hourtotals.StoredHour) error { wrong = append(wrong, h); return nil })
		require.NoError(t, err)
		require.Len(t, wrong, want)
	}
	wrong, err := w.Totals().Check(t.Context(), ws, hourtotals.KindOf(query.FlowRun), hour, true)
	require.NoError(t, err)
	require.True(t, wrong)
	wrong, err = w.Totals().Check(t.Context(), ws, hourtotals.KindOf(query.FlowRun), hour, true)
	require.NoError(t, err)
	require.False(t, wrong)
	w.same(t, query.FlowRun, ws, bson.D{}, "repaired")
}

// TestEventsAndTaskRunsHaveHours: counts of events by names and of task runs by their start use rows too.
func TestEventsAndTaskRunsHaveHours(t *testing.T) {
	t.Parallel()
	w := newTotalled(t)
	ws, ctx := uuid.New(), t.Context()
	events := store.NewCollection(w.Store, query.Event, &orchv1.ReceivedEvent{}, store.ClientIDs)
	tasks := store.NewCollection(w.Store, query.TaskRun, &orchv1.TaskRun{})
	var chosen []store.ClientDocument
	for i := range 100 {
		key, occurred := uuid.New(), oldHour(2+i%20).Add(time.Minute)
		doc, err := store.NewDocument(ws, &orchv1.ReceivedEvent{Id: key.String(), Event: fmt.Sprint("e", i%3), Occurred: timestamppb.New(occurred)}, time.Now().Add(100*time.Hour))
		require.NoError(t, err)
		chosen = append(chosen, store.ClientDocument{Workspace: ws, ID: key, Doc: doc})
		run := &orchv1.TaskRun{
			Id: uuid.NewString(), TaskKey: "t", DynamicKey: fmt.Sprint(i), Name: "t", State: &orchv1.State{Type: orchv1.StateType_STATE_TYPE_COMPLETED, Name: new("Completed")},
		}
		if i%4 > 0 {
			run.StartTime = timestamppb.New(occurred)
		}
		require.NoError(t, tasks.Insert(ctx, ws, run))
	}
	_, err := store.InsertClientIDs(ctx, events, chosen)
	require.NoError(t, err)
	w.count(t)
	require.GreaterOrEqual(t, w.withRows(t), 40)
	window := bson.D{{Key: "$gte", Value: oldHour(15).UnixMicro()}, {Key: "$lte", Value: time.Now().UnixMicro()}}
	require.EqualValues(t, 100, w.same(t, query.Event, ws, bson.D{}, "all"))
	w.same(t, query.Event, ws, bson.D{{Key: "occurred", Value: window}, {Key: "event", Value: bson.D{{Key: "$in", Value: bson.A{"e0", "e2"}}}}}, "names")
	require.EqualValues(t, 100, w.same(t, query.TaskRun, ws, bson.D{}, "started or not"))
	w.same(t, query.TaskRun, ws, bson.D{{Key: "start_time", Value: window}, {Key: "state.type", Value: "COMPLETED"}}, "started")
	_, err = store.DeleteOldest(ctx, events, ws, bson.D{}, "occurred", 10)
	require.NoError(t, err)
	require.EqualValues(t, 90, w.same(t, query.Event, ws, bson.D{}, "deleted"))
	// From the time at which the database may delete events, their hours are counted by the events.
	w.clock.advance(200 * time.Hour)
	require.EqualValues(t, 90, w.same(t, query.Event, ws, bson.D{}, "expired"))
}

// A deletion opens the hours of all its matches, also of those behind the first thousand.
func TestADeletionOpensTheHoursOfAllMatches(t *testing.T) {
	t.Parallel()
	w := newTotalled(t)
	c := store.NewCollection(w.Store, query.FlowRun, &orchv1.FlowRun{})
	ws := uuid.New()
	runs := make([]*orchv1.FlowRun, 0, 1002)
	for i := range 1001 {
		runs = append(runs, oldRun(i, oldHour(5)))
	}
	runs = append(runs, oldRun(1001, oldHour(4)))
	_, err := store.InsertAll(t.Context(), c, ws, runs)
	require.NoError(t, err)
	w.count(t)
	before := w.withRows(t)
	require.EqualValues(t, len(runs), w.same(t, query.FlowRun, ws, bson.D{}, "before"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // A busy machine may need longer than the time limit of an operation.
	defer cancel()
	require.NoError(t, c.DeleteMany(ctx, ws, bson.D{}))
	require.Equal(t, before-2, w.withRows(t))
	require.Zero(t, w.same(t, query.FlowRun, ws, bson.D{}, "after"))
}
