package schedules_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a store with a flow, at a time that stands still until it is moved.
type world struct {
	testing.TB
	clock       *clock.Manual
	server      *embeddedmongo.Server
	store       *store.Store
	deployments *store.Collection[*orchv1.Deployment]
	runs        *store.Collection[*orchv1.FlowRun]
	ws          uuid.UUID
	flow        *orchv1.Flow
}

var began = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func newWorld(t testing.TB) *world {
	t.Helper()
	server, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{NoSync: true})
	require.NoError(t, err)
	w := &world{TB: t, clock: clock.NewManual(began), server: server, ws: uuid.New()}
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	w.store = w.open(w.clock)
	require.NoError(t, w.store.EnsureIndexes(t.Context(), query.Indexes()))
	w.deployments = store.NewCollection(w.store, query.Deployment, &orchv1.Deployment{})
	w.runs = store.NewCollection(w.store, query.FlowRun, &orchv1.FlowRun{})
	w.flow = &orchv1.Flow{Id: uuid.NewString(), Name: "etl"}
	require.NoError(t, store.NewCollection(w.store, query.Flow, &orchv1.Flow{}).Insert(t.Context(), w.ws, w.flow))
	return w
}

func (w *world) open(c clock.Clock) *store.Store {
	w.Helper()
	s, err := store.Open(w.Context(), store.Config{
		URI: w.server.URI(), Database: "orch", Dialer: w.server.ContextDialer(), Clock: c, IDs: id.System(),
	})
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, s.Close(context.WithoutCancel(w.Context()))) })
	return s
}

// scheduler is a replica on a store.
func (w *world) scheduler(s *store.Store, limits schedules.Limits) *schedules.Scheduler {
	w.Helper()
	return schedules.New(schedules.Deps{
		Store: s, Limits: limits, Log: slog.New(slog.DiscardHandler),
		Runs: w.flowRuns(s),
	})
}

func (*world) flowRuns(s *store.Store) *flowruns.Service {
	return flowruns.New(flowruns.Deps{Store: s, Vocabulary: vocabulary.Orch, Limits: concurrency.NewLimits(s, vocabulary.Orch, nil)})
}

// relay executes the effects of all deployments, as the relay does, and takes them out of the outboxes.
func (w *world) relay(s *schedules.Scheduler, db *store.Store) {
	w.Helper()
	require.NoError(w, execute(w.Context(), s, db))
}

func execute(ctx context.Context, s *schedules.Scheduler, db *store.Store) error {
	for {
		due, err := db.Due(ctx, query.Deployment, began.AddDate(100, 0, 0), 1000)
		if err != nil || len(due) == 0 {
			return err
		}
		ids := make([]store.DocumentKey, len(due))
		for i := range due {
			ids[i] = due[i].DocumentKey
		}
		boxes, _, err := db.PendingOf(ctx, query.Deployment, ids)
		if err != nil {
			return err
		}
		var effects []store.Effect
		for _, box := range boxes {
			effects = append(effects, box.Effects...)
		}
		run := map[string]func(context.Context, []store.Effect) error{}
		for _, h := range slices.Concat(new(world).flowRuns(db).Handlers(), s.Handlers()) {
			run[h.Kind] = h.Run
		}
		for len(effects) > 0 {
			n := 1
			for n < len(effects) && effects[n].Kind == effects[0].Kind {
				n++
			}
			if err := run[effects[0].Kind](ctx, effects[:n]); err != nil {
				return err
			}
			effects = effects[n:]
		}
		if err := db.Done(ctx, query.Deployment, boxes...); err != nil {
			return err
		}
	}
}

func cron(expression, zone string) *orchv1.Schedule {
	return &orchv1.Schedule{Kind: &orchv1.Schedule_Cron{Cron: &orchv1.CronSchedule{Cron: expression, Timezone: &zone, DayOr: true}}}
}

func interval(every time.Duration, anchor time.Time) *orchv1.Schedule {
	return &orchv1.Schedule{Kind: &orchv1.Schedule_Interval{Interval: &orchv1.IntervalSchedule{
		Interval: durationpb.New(every), AnchorDate: timestamppb.New(anchor), Timezone: new("UTC"),
	}}}
}

func rrule(rule string) *orchv1.Schedule {
	return &orchv1.Schedule{Kind: &orchv1.Schedule_Rrule{Rrule: &orchv1.RRuleSchedule{Rrule: rule, Timezone: new("UTC")}}}
}

// deployment stores a deployment with schedules, due now.
func (w *world) deployment(name string, all ...*orchv1.Schedule) *orchv1.Deployment {
	w.Helper()
	d := &orchv1.Deployment{Id: w.store.NewID().String(), Name: name, FlowId: w.flow.GetId(), Tags: []string{"nightly"}, Parameters: []byte(`{"a":1,"b":2}`)}
	for _, s := range all {
		d.Schedules = append(d.Schedules, &orchv1.DeploymentSchedule{
			Id: w.store.NewID().String(), Schedule: s, Active: true, Created: timestamppb.New(w.clock.Now()),
			Updated: timestamppb.New(w.clock.Now()), ScheduledUntil: timestamppb.New(w.clock.Now()),
		})
	}
	d.ScheduleDue = schedules.Due(d, w.clock.Now())
	require.NoError(w, w.deployments.Insert(w.Context(), w.ws, d))
	return d
}

// scheduled are the runs of a deployment by their time.
func (w *world) scheduled(d *orchv1.Deployment) []*orchv1.FlowRun {
	w.Helper()
	id := uuid.MustParse(d.GetId())
	runs, err := w.runs.Find(w.Context(), w.ws, store.Query{Filter: bson.D{{Key: "deployment_id", Value: store.Binary(id)}}, Sort: bson.D{{Key: "expected_start_time", Value: 1}}})
	require.NoError(w, err)
	return runs
}

func times(runs []*orchv1.FlowRun) []string {
	var texts []string
	for _, run := range runs {
		texts = append(texts, run.GetExpectedStartTime().AsTime().Format("01-02T15:04:05"))
	}
	return texts
}
