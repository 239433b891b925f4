package backfills

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// began is the time at which a world begins.
var began = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// world is the service on an embedded store, at a time that stands still until it is moved.
type world struct {
	*testing.T
	ctx        context.Context //nolint:containedctx // The context of requests for the workspace.
	clock      *clock.Manual
	store      *store.Store
	service    *Service
	runs       *store.Collection[*orchv1.FlowRun]
	ws         uuid.UUID
	flow       *orchv1.Flow
	deployment *orchv1.Deployment
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, clock: clock.NewManual(began), ws: uuid.New()}
	w.ctx = requesttest.Incoming(t, w.ws)
	w.store = storetest.New(t, w.clock)
	w.service = w.replica()
	w.runs = store.NewCollection(w.store, query.FlowRun, &orchv1.FlowRun{})
	w.flow = &orchv1.Flow{Id: uuid.NewString(), Name: "etl"}
	require.NoError(t, store.NewCollection(w.store, query.Flow, &orchv1.Flow{}).Insert(t.Context(), w.ws, w.flow))
	w.deployment = w.deployed(daily())
	return w
}

// replica returns another service over the store.
func (w *world) replica() *Service {
	return New(Deps{
		Store: w.store, Vocabulary: vocabulary.Orch, Admission: admission.New(admission.DefaultMemory),
		Runs:  flowruns.New(flowruns.Deps{Store: w.store, Vocabulary: vocabulary.Orch, Limits: concurrency.NewLimits(w.store, vocabulary.Orch, nil)}),
		Check: func(context.Context, uuid.UUID, *orchv1.Deployment, []byte) error { return nil },
	})
}

func cron(expression string) *orchv1.Schedule {
	return &orchv1.Schedule{Kind: &orchv1.Schedule_Cron{Cron: &orchv1.CronSchedule{Cron: expression, DayOr: true}}}
}

// daily is due at six in the morning.
func daily() *orchv1.Schedule { return cron("0 6 * * *") }

func everySecond() *orchv1.Schedule {
	return &orchv1.Schedule{Kind: &orchv1.Schedule_Interval{Interval: &orchv1.IntervalSchedule{Interval: durationpb.New(time.Second)}}}
}

// deployed stores a deployment with schedules.
func (w *world) deployed(all ...*orchv1.Schedule) *orchv1.Deployment {
	w.Helper()
	d := &orchv1.Deployment{
		Id: uuid.NewString(), Name: uuid.NewString(), FlowId: w.flow.GetId(), Parameters: []byte(`{"a":1,"b":2,"c":3}`), Tags: []string{"nightly"},
		Labels: map[string]*orchv1.Scalar{"orch.lateness": {Kind: &orchv1.Scalar_StringValue{StringValue: "skip"}}},
	}
	for _, one := range all {
		d.Schedules = append(d.Schedules, &orchv1.DeploymentSchedule{
			Id: uuid.NewString(), Schedule: one, Created: timestamppb.New(began), Parameters: []byte(`{"b":20,"c":30}`),
		})
	}
	require.NoError(w, w.deployments().Insert(w.Context(), w.ws, d))
	return d
}

func (w *world) deployments() *store.Collection[*orchv1.Deployment] {
	return store.NewCollection(w.store, query.Deployment, &orchv1.Deployment{})
}

// request asks for the days before the beginning of the world.
func (w *world) request(days int, parallel int64) *orchv1.BackfillCreate {
	return &orchv1.BackfillCreate{
		DeploymentId: w.deployment.GetId(), StartTime: timestamppb.New(began.AddDate(0, 0, -days)), EndTime: timestamppb.New(began),
		MaxParallelRuns: parallel, Parameters: []byte(`{"c":300}`),
	}
}

func (w *world) create(days int, parallel int64) *orchv1.Backfill {
	w.Helper()
	b, err := w.service.CreateBackfill(w.ctx, &orchv1.CreateBackfillRequest{Backfill: w.request(days, parallel)})
	require.NoError(w, err)
	return b
}

// refused returns the text of the refusal of a request.
func (w *world) refused(status int32, create *orchv1.BackfillCreate) string {
	w.Helper()
	_, err := w.service.CreateBackfill(w.ctx, &orchv1.CreateBackfillRequest{Backfill: create})
	refusal := rpc.HTTPError(err)
	require.Equal(w, status, refusal.GetStatus(), err)
	if errs := refusal.GetFieldErrors().GetErrors(); len(errs) > 0 {
		return errs[0].GetMsg()
	}
	return refusal.GetDetail()
}

func (w *world) pass() int {
	w.Helper()
	changed, err := w.service.Pass(w.Context())
	require.NoError(w, err)
	return changed
}

func (w *world) read(b *orchv1.Backfill) *orchv1.Backfill {
	w.Helper()
	found, err := w.service.ReadBackfill(w.ctx, &orchv1.ReadBackfillRequest{Id: b.GetId()})
	require.NoError(w, err)
	return found
}

// progress describes what a backfill has done.
func (w *world) progress(b *orchv1.Backfill) string {
	w.Helper()
	b = w.read(b)
	return fmt.Sprintf("%s %d/%d unfinished %d completed %d failed %d cancelled %d", stateName(b.GetState()), b.GetCreatedRuns(), b.GetTotalRuns(),
		b.GetUnfinishedRuns(), b.GetCompletedRuns(), b.GetFailedRuns(), b.GetCancelledRuns())
}

// all returns the runs of a backfill by their expected start.
func (w *world) all(b *orchv1.Backfill) []*orchv1.FlowRun {
	w.Helper()
	runs, err := w.runs.Find(w.Context(), w.ws, store.Query{
		Filter: bson.D{{Key: "created_by.id", Value: store.Binary(uuid.MustParse(b.GetId()))}}, Sort: bson.D{{Key: "expected_start_time", Value: 1}},
	})
	require.NoError(w, err)
	return runs
}

// set forces the state of a run.
func (w *world) set(run *orchv1.FlowRun, kind orchv1.StateType) {
	w.Helper()
	_, err := w.service.runs.SetFlowRunState(w.ctx, &orchv1.SetFlowRunStateRequest{
		Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: kind}, Force: true},
	})
	require.NoError(w, err)
}

// end ends all unfinished runs of a backfill.
func (w *world) end(b *orchv1.Backfill, kind orchv1.StateType) {
	w.Helper()
	for _, run := range w.all(b) {
		if !rules.Terminal(run.GetState().GetType()) {
			w.set(run, kind)
		}
	}
}
