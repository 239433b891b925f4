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

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/randomname"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxParameters bounds a run's parameters, in bytes of JSON.
const maxParameters = parameters.MaxBytes

// CreateFlowRun stores a run, or answers the run of the same flow and idempotency key as it is: 201 or 200.
func (s *Service) CreateFlowRun(ctx context.Context, r *orchv1.CreateFlowRunRequest) (*orchv1.FlowRun, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	run, created, err := s.Create(ctx, info.Workspace, Creation{Run: r.GetFlowRun(), CreatedBy: CreatedBy(info)})
	if err != nil || !created {
		return run, err
	}
	return run, rpc.SetStatus(ctx, http.StatusCreated)
}

// Creation is a run to be made.
type Creation struct {
	// Run is what clients may ask for.
	Run *orchv1.FlowRunCreate
	// The rest only the server itself knows: where the run comes from.
	DeploymentVersion *string
	WorkQueueID       *string
	WorkPoolName      *string
	AutoScheduled     bool
	CreatedBy         *orchv1.CreatedBy
}

// CreatedBy tells of the automation that makes a request; nil when none does.
func CreatedBy(info request.Info) *orchv1.CreatedBy {
	if info.Automation == (request.Automation{}) {
		return nil
	}
	return &orchv1.CreatedBy{Id: new(info.Automation.ID.String()), Type: new("AUTOMATION"), DisplayValue: new(info.Automation.Name)}
}

// Create stores a run and tells so, or answers the run of the same flow and idempotency key as it is.
func (s *Service) Create(ctx context.Context, ws uuid.UUID, c Creation) (run *orchv1.FlowRun, created bool, err error) {
	if err := check(c.Run); err != nil {
		return nil, false, err
	}
	flowID, err := uuid.Parse(c.Run.GetFlowId())
	if err != nil {
		return nil, false, fmt.Errorf("read the id of a flow: %w", err)
	}
	flow, err := s.flows.Get(ctx, ws, flowID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, fmt.Errorf("create a run of a flow that does not exist: %w", store.ErrDuplicate)
	}
	if err != nil {
		return nil, false, err
	}
	if err := s.checkParent(ctx, ws, c.Run.ParentTaskRunId); err != nil {
		return nil, false, err
	}
	s.relatives.put(flowID, relative{flow.GetName(), flow.GetTags()}, s.runs.Store().Now())

	// The run of that key may be deleted between the insert that met it and the read that looks for it.
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
			return present(run, s.runs.Store().Now()), false, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, false, err
		}
	}
	return nil, false, fmt.Errorf("create a flow run: %w", store.ErrContention)
}

// checkParent refuses a run of a task run that is not there: its states would be copied to nobody. Clients create the task
// runs that stand for subflows themselves, before the subflow.
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
	if create.WorkPoolName != nil {
		return rpc.Detail(http.StatusNotFound, fmt.Sprintf("Work pool %q not found.", create.GetWorkPoolName()))
	}
	return nil
}

func (s *Service) insert(ctx context.Context, ws uuid.UUID, c Creation, flow *orchv1.Flow) (*orchv1.FlowRun, error) {
	of := s.runs.Store()
	now := of.Now()
	run := s.newRun(of.NewID(), c, flow)
	proposal := c.Run.GetState()
	if proposal == nil {
		proposal = &orchv1.StateCreate{Type: orchv1.StateType_STATE_TYPE_PENDING}
	}
	t := rules.Propose(run, proposal, now, of.NewID)
	rules.MinimalFlowPolicy.Judge(t)
	kin, err := s.kinOf(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	effects, err := s.effects(ws, t, kin, 1)
	if err != nil {
		return nil, err
	}
	if err := s.runs.Insert(ctx, ws, t.Run, effects...); err != nil {
		return nil, err
	}
	return present(t.Run, now), nil
}

// newRun builds the run from a request, before its first state.
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
		WorkQueueId:              c.WorkQueueID,
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
		run.Name = randomname.New()
	}
	if run.JobVariables == nil {
		run.JobVariables = []byte("{}")
	}
	s.label(run, flow.GetLabels().GetValues(), create.GetLabels().GetValues())
	return run
}

// policy is a policy as it is kept: the pauses that have fired are a set, of none at first.
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

// label gives a run the labels of its flow, those of the server, and its own; the later win.
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
