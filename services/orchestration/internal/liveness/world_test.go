package liveness

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
	"github.com/orch-project/orch/services/orchestration/internal/workpools"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	scheduled = orchv1.StateType_STATE_TYPE_SCHEDULED
	pending   = orchv1.StateType_STATE_TYPE_PENDING
	running   = orchv1.StateType_STATE_TYPE_RUNNING
	completed = orchv1.StateType_STATE_TYPE_COMPLETED
	failed    = orchv1.StateType_STATE_TYPE_FAILED
	crashed   = orchv1.StateType_STATE_TYPE_CRASHED

	// every is the interval of the passes, which is a step of the world.
	every = 30 * time.Second
)

// world is a monitor on an embedded store, with a wall clock that may step and a monotonic clock that may not.
type world struct {
	*testing.T
	wall     *clock.Manual
	elapsed  time.Duration
	store    *store.Store
	runs     *flowruns.Service
	events   *events.Service
	timeouts *Service
	pools    *workpools.Service
	monitor  *Monitor
	ws       uuid.UUID
	flow     *orchv1.Flow
	deployed *orchv1.Deployment
	stored   *store.Collection[*orchv1.ReceivedEvent]

	unstored []*orchv1.ReceivedEvent // Events that the broker has and the store has not.
	lagging  bool

	maintenance bool
	pool        *orchv1.WorkPool // Where a worker executes the runs that send no heartbeats; nil for runs that send them.
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, wall: clock.NewManual(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)), ws: uuid.New()}
	w.store = storetest.New(t, w.wall)
	w.runs = flowruns.New(flowruns.Deps{Store: w.store, Vocabulary: vocabulary.Orch, Limits: concurrency.NewLimits(w.store, vocabulary.Orch, nil)})
	w.events = events.New(events.Deps{Store: w.store, Vocabulary: vocabulary.Orch})
	w.stored = store.NewCollection(w.store, query.Event, &orchv1.ReceivedEvent{}, store.ClientIDs)
	w.timeouts = New(w.store, vocabulary.Orch, outbox.Flusher{})
	w.pools = workpools.New(workpools.NewPools(workpools.PoolsDeps{
		Store: w.store, Vocabulary: vocabulary.Orch, Log: slog.New(slog.DiscardHandler), Limits: concurrency.NewLimits(w.store, vocabulary.Orch, nil),
		Block: func(context.Context, uuid.UUID, uuid.UUID) (json.RawMessage, bool, error) { return nil, false, nil },
	}), nil)
	w.restart()
	w.flow = &orchv1.Flow{Id: uuid.NewString(), Name: "etl"}
	require.NoError(t, store.NewCollection(w.store, query.Flow, &orchv1.Flow{}).Insert(t.Context(), w.ws, w.flow))
	w.deployed = &orchv1.Deployment{Id: uuid.NewString(), Name: "nightly", FlowId: w.flow.GetId()}
	require.NoError(t, store.NewCollection(w.store, query.Deployment, &orchv1.Deployment{}).Insert(t.Context(), w.ws, w.deployed))
	return w
}

// restart replaces the monitor, as another replica that takes over.
func (w *world) restart() {
	w.monitor = NewMonitor(MonitorDeps{
		Store: w.store, Runs: w.runs, Events: w.events, Timeouts: w.timeouts, Workers: w.pools.Pools, Every: every, Log: slog.New(slog.DiscardHandler),
		Maintenance: func(context.Context) (bool, error) { return w.maintenance, nil },
		Elapsed:     func() time.Duration { return w.elapsed },
		Stored: func(context.Context) error {
			if w.lagging {
				return context.DeadlineExceeded
			}
			return nil
		},
	})
}

func (w *world) advance(d time.Duration) {
	w.elapsed += d
	w.wall.Advance(d)
}

// call calls a method of the service as the gateway does.
func call[R proto.Message](w *world, method string, r proto.Message) R {
	w.Helper()
	local := rpc.NewLocal()
	orchv1.RegisterFlowRunServiceServer(local, w.runs)
	orchv1.RegisterRunTimeoutServiceServer(local, w.timeouts)
	orchv1.RegisterWorkPoolServiceServer(local, w.pools)
	response, _, err := local.Call(request.Outgoing(w.Context(), request.Info{Account: request.DefaultAccount, Workspace: w.ws}), method, r)
	require.NoError(w, err)
	return response.(R)
}

func (w *world) create(edits ...func(*orchv1.FlowRunCreate)) *orchv1.FlowRun {
	w.Helper()
	create := &orchv1.FlowRunCreate{FlowId: w.flow.GetId()}
	for _, edit := range edits {
		edit(create)
	}
	return call[*orchv1.FlowRun](w, orchv1.FlowRunService_CreateFlowRun_FullMethodName, &orchv1.CreateFlowRunRequest{FlowRun: create})
}

// ofDeployment makes a run one of the deployment with a number of retries.
func (w *world) ofDeployment(retries int64) func(*orchv1.FlowRunCreate) {
	return func(c *orchv1.FlowRunCreate) {
		c.DeploymentId, c.State = &w.deployed.Id, &orchv1.StateCreate{Type: scheduled}
		c.EmpiricalPolicy = &orchv1.FlowRunPolicy{Retries: &retries}
	}
}

// propose proposes a state as a client does.
func (w *world) propose(run *orchv1.FlowRun, kind orchv1.StateType) *orchv1.OrchestrationResult {
	w.Helper()
	return call[*orchv1.OrchestrationResult](w, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
		Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: kind}},
	})
}

func (w *world) read(run *orchv1.FlowRun) *orchv1.FlowRun {
	w.Helper()
	return call[*orchv1.FlowRun](w, orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: run.GetId()})
}

// beat sends a heartbeat that occurred and was received at times of other clocks, as offsets from the wall clock.
func (w *world) beat(run *orchv1.FlowRun, occurred, received time.Duration) {
	w.Helper()
	w.send("orch.flow-run.heartbeat", "orch.flow-run."+run.GetId(), occurred, received)
}

func (w *world) send(name, resource string, occurred, received time.Duration, related ...string) {
	w.Helper()
	event := &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: name, Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": resource, "orch.version": "3.9.1"}},
		Occurred: timestamppb.New(w.wall.Now().Add(occurred)), Received: timestamppb.New(w.wall.Now().Add(received)),
	}
	for _, id := range related {
		event.Related = append(event.Related, &orchv1.RelatedResource{Labels: map[string]string{"orch.resource.id": id, "orch.resource.role": "flow-run"}})
	}
	w.publish(event)
}

func (w *world) publish(event *orchv1.ReceivedEvent) {
	w.Helper()
	w.unstored = append(w.unstored, event)
	w.deliver()
}

// submit publishes the event by which a worker of a type says that it executes a run, and starts the run.
func (w *world) submit(run *orchv1.FlowRun, workerType string) {
	w.Helper()
	w.publish(&orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: "orch.worker.submitted-flow-run", Occurred: timestamppb.New(w.wall.Now()), Received: timestamppb.New(w.wall.Now()),
		Resource: &orchv1.Resource{Labels: map[string]string{
			"orch.resource.id": "orch.worker." + workerType + ".night-shift", "orch.resource.name": "Night Shift", "orch.worker-type": workerType,
		}},
		Related: []*orchv1.RelatedResource{
			{Labels: map[string]string{"orch.resource.id": "orch.flow-run." + run.GetId(), "orch.resource.role": "flow-run"}},
			{Labels: map[string]string{"orch.resource.id": "orch.work-pool." + w.pool.GetId(), "orch.resource.role": "work-pool"}},
		},
	})
	w.propose(run, running)
}

// workerBeat sends a heartbeat of the worker.
func (w *world) workerBeat(interval time.Duration) {
	w.Helper()
	call[*emptypb.Empty](w, orchv1.WorkPoolService_WorkerHeartbeat_FullMethodName, &orchv1.WorkerHeartbeatRequest{
		WorkPoolName: w.pool.GetName(), Heartbeat: &orchv1.Heartbeat{Name: "Night Shift", HeartbeatIntervalSeconds: new(int64(interval.Seconds()))},
	})
}

// withWorker makes a worker execute the runs, whose heartbeats count by a rule.
func (w *world) withWorker() {
	w.Helper()
	w.pool = call[*orchv1.WorkPool](w, orchv1.WorkPoolService_CreateWorkPool_FullMethodName,
		&orchv1.CreateWorkPoolRequest{WorkPool: &orchv1.WorkPoolCreate{Name: "p", Type: "process"}})
	w.set(&orchv1.RunTimeoutRule{WorkerHeartbeats: new(true)})
}

// deliver stores what the broker has, unless the consumer lags.
func (w *world) deliver() {
	w.Helper()
	if w.lagging {
		return
	}
	var docs []store.ClientDocument
	for _, event := range w.unstored {
		wire.Index(vocabulary.Orch, event)
		doc, err := store.NewDocument(w.ws, event, time.Time{})
		require.NoError(w, err)
		docs = append(docs, store.ClientDocument{Workspace: w.ws, ID: uuid.MustParse(event.GetId()), Doc: doc})
	}
	w.unstored = nil
	for batch := range slices.Chunk(docs, 500) {
		refused, err := store.InsertClientIDs(w.Context(), w.stored, batch)
		require.NoError(w, err)
		require.Empty(w, refused)
	}
}

// lag begins or ends a lag of the consumer that stores events.
func (w *world) lag(lagging bool) {
	w.lagging = lagging
	w.deliver()
}

// pass is a pass of the monitor.
func (w *world) pass() int {
	w.Helper()
	lost, err := w.monitor.Pass(w.Context())
	require.NoError(w, err)
	return lost
}

// set replaces the rules of the workspace.
func (w *world) set(rules ...*orchv1.RunTimeoutRule) {
	w.Helper()
	call[*orchv1.RunTimeouts](w, orchv1.RunTimeoutService_ReplaceRunTimeouts_FullMethodName,
		&orchv1.ReplaceRunTimeoutsRequest{Timeouts: &orchv1.RunTimeoutsUpdate{Rules: rules}})
}
