package flowruns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/naming"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxParameters is the maximum size of a run's parameters in bytes of JSON.
const maxParameters = parameters.MaxBytes

// CreateFlowRun stores a run, or returns the existing run of the same flow and idempotency key: 201 or 200.
func (s *Service) CreateFlowRun(ctx context.Context, r *orchv1.CreateFlowRunRequest) (*orchv1.FlowRun, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	creation := Creation{Run: r.GetFlowRun(), CreatedBy: CreatedBy(info)}
	if pool := creation.Run.GetWorkPoolName(); pool != "" {
		at, err := s.findQueue(ctx, info.Workspace, pool, creation.Run.GetWorkQueueName())
		if err != nil {
			return nil, err
		}
		creation.WorkPoolID, creation.WorkPoolName, creation.WorkQueueID = &at.PoolID, &at.PoolName, &at.QueueID
		creation.Run.WorkQueueName = &at.QueueName
	}
	run, created, err := s.Create(ctx, info.Workspace, creation)
	if err != nil || !created {
		return run, err
	}
	return run, rpc.SetStatus(ctx, http.StatusCreated)
}

// Creation is the input of Create.
type Creation struct {
	// Run holds the fields that clients may set.
	Run *orchv1.FlowRunCreate
	// Only the server sets the other fields: the origin of the run.
	DeploymentVersion *string
	WorkQueueID       *string
	WorkPoolID        *string
	WorkPoolName      *string
	AutoScheduled     bool
	CreatedBy         *orchv1.CreatedBy
	// ExpectedStart differs from the scheduled time of a run that stands for a time of the past; nil means that it does not.
	ExpectedStart *timestamppb.Timestamp
}

// CreatedBy returns the automation behind a request; nil if there is none.
func CreatedBy(info request.Info) *orchv1.CreatedBy {
	if info.Automation == (request.Automation{}) {
		return nil
	}
	return &orchv1.CreatedBy{Id: new(info.Automation.ID.String()), Type: new("AUTOMATION"), DisplayValue: new(info.Automation.Name)}
}

// Create stores a run and publishes its events, or returns the existing run of the same flow and idempotency key.
func (s *Service) Create(ctx context.Context, ws uuid.UUID, c Creation) (run *orchv1.FlowRun, created bool, err error) {
	if err := check(c.Run); err != nil {
		return nil, false, err
	}
	if err := s.CheckOrder(c.Run.GetLabels().GetValues(), c.Run.GetJobVariables()); err != nil {
		return nil, false, err
	}
	flowID, err := uuid.Parse(c.Run.GetFlowId())
	if err != nil {
		return nil, false, fmt.Errorf("read the id of a flow: %w", err)
	}
	flow, err := s.readFlow(ctx, ws, flowID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, fmt.Errorf("create a run of a flow that does not exist: %w", store.ErrDuplicate)
	}
	if err != nil {
		return nil, false, err
	}
	if err := s.checkParent(ctx, ws, c.Run.ParentTaskRunId); err != nil {
		return nil, false, err
	}
	s.relatedCache.put(flowID, relatedResource{flow.GetName(), flow.GetTags()}, s.runs.Store().Now())

	// A concurrent call may delete the run of that key between the failed insert and the read.
	for range 3 {
		run, err := s.insert(ctx, ws, c, flow)
		if err == nil {
			return run, true, nil
		}
		if !errors.Is(err, store.ErrDuplicate) {
			return nil, false, err
		}
		run, err = s.runs.First(ctx, ws, bson.D{
			{Key: "flow_id", Value: store.Binary(flowID)},
			{Key: "idempotency_key", Value: c.Run.GetIdempotencyKey()},
		})
		if err == nil {
			return Present(run, s.runs.Store().Now()), false, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, false, err
		}
	}
	return nil, false, fmt.Errorf("create a flow run: %w", store.ErrContention)
}

// readFlow reads a flow, which the caller must not change. Concurrent callers share a read.
func (s *Service) readFlow(ctx context.Context, ws, id uuid.UUID) (*orchv1.Flow, error) {
	return s.flowReads.Do(ctx, ownedID{ws, id}, func(ctx context.Context) (*orchv1.Flow, error) { return s.flows.Get(ctx, ws, id) })
}

// checkParent refuses an unknown parent task run, because the run's states are copied to it. Clients create parent task
// runs before the subflow.
func (s *Service) checkParent(ctx context.Context, ws uuid.UUID, parent *string) error {
	if parent == nil {
		return nil
	}
	id, err := uuid.Parse(*parent)
	if err != nil {
		return fmt.Errorf("read the id of a task run: %w", err)
	}
	if _, err = s.tasks.Get(ctx, ws, id); errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("create a run of a task run that does not exist: %w", store.ErrDuplicate)
	}
	return err
}

func check(create *orchv1.FlowRunCreate) error {
	if len(create.GetParameters()) > maxParameters {
		return rpc.Invalid(rpc.BodyError("value_error", "Value error, parameters are larger than 512 KiB", "parameters"))
	}
	return nil
}

func (s *Service) insert(ctx context.Context, ws uuid.UUID, c Creation, flow *orchv1.Flow) (*orchv1.FlowRun, error) {
	db := s.runs.Store()
	now := db.Now()
	run := s.newRun(db.NewID(), c, flow)
	proposal := c.Run.GetState()
	if proposal == nil {
		proposal = &orchv1.StateCreate{Type: orchv1.StateType_STATE_TYPE_PENDING}
	}
	t := rules.Propose(run, proposal, now, db.NewID)
	t.Client = request.Client(ctx)
	rules.MinimalFlowPolicy.Judge(t)
	related, err := s.relatedOf(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	effects, err := s.effects(ws, t, related, 1)
	if err != nil {
		return nil, err
	}
	if err := s.runs.Insert(ctx, ws, t.Run, effects...); err != nil {
		return nil, err
	}
	s.notifyWaiting(ws, t.Run)
	return Present(t.Run, now), nil
}

// newRun builds a run from a request, without a state.
func (s *Service) newRun(id uuid.UUID, c Creation, flow *orchv1.Flow) *orchv1.FlowRun {
	create := c.Run
	run := &orchv1.FlowRun{
		Id:                       id.String(),
		Name:                     create.GetName(),
		FlowId:                   flow.GetId(),
		FlowVersion:              create.FlowVersion,
		DeploymentId:             create.DeploymentId,
		DeploymentVersion:        c.DeploymentVersion,
		AutoScheduled:            c.AutoScheduled,
		CreatedBy:                c.CreatedBy,
		ExpectedStartTime:        c.ExpectedStart,
		WorkQueueId:              c.WorkQueueID,
		WorkPoolId:               c.WorkPoolID,
		WorkPoolName:             c.WorkPoolName,
		Parameters:               create.GetParameters(),
		Context:                  create.GetContext(),
		ParentTaskRunId:          create.ParentTaskRunId,
		InfrastructureDocumentId: create.InfrastructureDocumentId,
		EmpiricalPolicy:          policy(create.GetEmpiricalPolicy()),
		Tags:                     create.GetTags(),
		IdempotencyKey:           create.IdempotencyKey,
		WorkQueueName:            create.WorkQueueName,
		JobVariables:             create.GetJobVariables(),
		Labels:                   map[string]*orchv1.Scalar{},
	}
	if run.Name == "" {
		run.Name = naming.Random()
	}
	if run.JobVariables == nil {
		run.JobVariables = []byte("{}")
	}
	s.label(run, flow.GetLabels().GetValues(), create.GetLabels().GetValues())
	s.prioritize(run)
	return run
}

// policy returns a policy as it is stored: the set of passed pauses starts empty.
func policy(asked *orchv1.FlowRunPolicy) *orchv1.FlowRunPolicy {
	if asked == nil {
		return &orchv1.FlowRunPolicy{Resuming: new(false), PauseKeys: &orchv1.StringSet{}}
	}
	kept := proto.Clone(asked).(*orchv1.FlowRunPolicy)
	if kept.PauseKeys == nil {
		kept.PauseKeys = &orchv1.StringSet{}
	}
	return kept
}

// label merges the labels of the flow, the server and the run; later ones win.
func (s *Service) label(run *orchv1.FlowRun, flow, own map[string]*orchv1.Scalar) {
	text := func(value string) *orchv1.Scalar {
		return &orchv1.Scalar{Kind: &orchv1.Scalar_StringValue{StringValue: value}}
	}
	server := map[string]*orchv1.Scalar{s.vocab.Name("flow", "id"): text(run.GetFlowId())}
	if run.DeploymentId != nil {
		server[s.vocab.Name("deployment", "id")] = text(run.GetDeploymentId())
	}
	for _, labels := range []map[string]*orchv1.Scalar{flow, server, own} {
		maps.Copy(run.Labels, labels)
	}
}
