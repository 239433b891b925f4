package flowruns

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// world is the service on an embedded store, at a time that stands still until it is moved.
type world struct {
	*testing.T
	clock   *clock.Manual
	store   *store.Store
	service *Service
	ws      uuid.UUID
	flow    *orchv1.Flow
}

const (
	scheduled  = orchv1.StateType_STATE_TYPE_SCHEDULED
	pending    = orchv1.StateType_STATE_TYPE_PENDING
	running    = orchv1.StateType_STATE_TYPE_RUNNING
	failed     = orchv1.StateType_STATE_TYPE_FAILED
	paused     = orchv1.StateType_STATE_TYPE_PAUSED
	cancelling = orchv1.StateType_STATE_TYPE_CANCELLING
	cancelled  = orchv1.StateType_STATE_TYPE_CANCELLED
)

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldBy(t, func(c *clock.Manual) clock.Clock { return c })
}

// newWorldBy is newWorld where the store reads another clock, made from the world's.
func newWorldBy(t *testing.T, wrap func(*clock.Manual) clock.Clock) *world {
	t.Helper()
	w := &world{T: t, clock: clock.NewManual(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)), ws: uuid.New()}
	w.store = storetest.New(t, wrap(w.clock))
	w.service = New(Deps{Store: w.store, Vocabulary: vocabulary.Orch, Limits: concurrency.NewLimits(w.store, vocabulary.Orch, nil)})
	w.flow = &orchv1.Flow{Id: uuid.NewString(), Name: "etl"}
	require.NoError(t, store.NewCollection(w.store, query.Flow, &orchv1.Flow{}).Insert(t.Context(), w.ws, w.flow))
	return w
}

// ask calls a method of the service as the gateway does.
func ask[R proto.Message](w *world, method string, r proto.Message) R {
	w.Helper()
	local := rpc.NewLocal()
	orchv1.RegisterFlowRunServiceServer(local, w.service)
	response, _, err := local.Call(request.Outgoing(w.Context(), request.Info{Account: request.DefaultAccount, Workspace: w.ws}), method, r)
	require.NoError(w, err)
	return response.(R)
}

func (w *world) run(edits ...func(*orchv1.FlowRunCreate)) *orchv1.FlowRun {
	w.Helper()
	create := &orchv1.FlowRunCreate{FlowId: w.flow.GetId()}
	for _, edit := range edits {
		edit(create)
	}
	return ask[*orchv1.FlowRun](w, orchv1.FlowRunService_CreateFlowRun_FullMethodName, &orchv1.CreateFlowRunRequest{FlowRun: create})
}

func (w *world) set(run *orchv1.FlowRun, state *orchv1.StateCreate) *orchv1.OrchestrationResult {
	w.Helper()
	return ask[*orchv1.OrchestrationResult](w, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
		Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: state, Force: true},
	})
}

func (w *world) state(run *orchv1.FlowRun) *orchv1.State {
	w.Helper()
	return ask[*orchv1.FlowRun](w, orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: run.GetId()}).GetState()
}
