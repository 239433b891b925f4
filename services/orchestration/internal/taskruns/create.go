package taskruns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"unicode/utf8"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/naming"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CreateTaskRun stores a run, or returns the existing run of the same flow run, task and dynamic key: 201 or 200.
func (s *Service) CreateTaskRun(ctx context.Context, r *orchv1.CreateTaskRunRequest) (*orchv1.TaskRun, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	create := r.GetTaskRun()
	if err := check(create); err != nil {
		return nil, err
	}
	run, err := s.newRun(create)
	if err != nil {
		return nil, err
	}
	flowRun, err := s.flowRun(ctx, info.Workspace, run)
	if err != nil {
		return nil, err
	}
	if run.FlowRunId != nil && flowRun == nil {
		return nil, fmt.Errorf("create a task run of a flow run that does not exist: %w", store.ErrDuplicate)
	}
	s.belong(run, flowRun, create.GetLabels())

	// A concurrent call may delete the run of those keys between the failed insert and the read.
	for range 3 {
		created, err := s.insert(ctx, info.Workspace, run, create.GetState(), flowRun)
		if err == nil {
			return created, rpc.SetStatus(ctx, http.StatusCreated)
		}
		if !errors.Is(err, store.ErrDuplicate) {
			return nil, err
		}
		found, err := s.byKeys(ctx, info.Workspace, run)
		if err == nil {
			return present(found, s.runs.Store().Now()), nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	// Its keys are free, so another run has its id.
	return nil, fmt.Errorf("create a task run: %w", store.ErrDuplicate)
}

// maxDelays bounds the list of delays of a retry policy.
const maxDelays = 50

// check validates the bounds of a request.
func check(create *orchv1.TaskRunCreate) error {
	var fieldErrors []*orchv1.FieldError
	refuse := func(text string, field ...string) {
		fieldErrors = append(fieldErrors, rpc.BodyError("value_error", "Value error, "+text, field...))
	}
	if len(create.GetEmpiricalPolicy().GetRetryDelay().GetNumbers().GetValues()) > maxDelays {
		refuse(fmt.Sprintf("Can not configure more than %d retry delays per task.", maxDelays), "empirical_policy", "retry_delay")
	}
	if create.GetEmpiricalPolicy().GetRetryJitterFactor() < 0 {
		refuse("`retry_jitter_factor` must be >= 0.", "empirical_policy", "retry_jitter_factor")
	}
	if utf8.RuneCountInString(create.GetCacheKey()) > rules.MaxCacheKey {
		refuse(fmt.Sprintf("Cache key exceeded maximum allowed length of %d characters.", rules.MaxCacheKey), "cache_key")
	}
	if len(fieldErrors) > 0 {
		return rpc.Invalid(fieldErrors...)
	}
	return nil
}

// byKeys returns the run of the same flow run, task and dynamic key.
func (s *Service) byKeys(ctx context.Context, ws uuid.UUID, run *orchv1.TaskRun) (*orchv1.TaskRun, error) {
	filter, err := keysOf(run)
	if err != nil {
		return nil, err
	}
	return s.runs.First(ctx, ws, filter)
}

// keysOf returns the filter for the same flow run, task and dynamic key, which matches at most one run.
func keysOf(run *orchv1.TaskRun) (bson.D, error) {
	var flowRun any
	if run.FlowRunId != nil {
		id, err := uuid.Parse(run.GetFlowRunId())
		if err != nil {
			return nil, fmt.Errorf("read the id of a flow run: %w", err)
		}
		flowRun = store.Binary(id)
	}
	return bson.D{
		{Key: "flow_run_id", Value: flowRun}, {Key: "task_key", Value: run.GetTaskKey()}, {Key: "dynamic_key", Value: run.GetDynamicKey()},
	}, nil
}

func (s *Service) insert(
	ctx context.Context, ws uuid.UUID, run *orchv1.TaskRun, proposal *orchv1.StateCreate, flowRun *orchv1.FlowRun,
) (*orchv1.TaskRun, error) {
	db := s.runs.Store()
	now := db.Now()
	if proposal == nil {
		proposal = &orchv1.StateCreate{Type: orchv1.StateType_STATE_TYPE_PENDING}
	}
	t := rules.ProposeTask(run, proposal, rules.TaskFacts{FlowRun: flowRun, Random: s.random}, now, db.NewID)
	rules.MinimalTaskPolicy.Judge(t)
	offer(t)
	effects, err := s.effects(ws, t, 1, request.Client(ctx).PublishesTaskRunEvents())
	if err != nil {
		return nil, err
	}
	if err := s.runs.Insert(ctx, ws, t.Run, effects...); err != nil {
		return nil, err
	}
	s.announce(ws, t.Run)
	return present(t.Run, now), nil
}

// newRun builds a run from a request, without a state.
func (s *Service) newRun(create *orchv1.TaskRunCreate) (*orchv1.TaskRun, error) {
	id := s.runs.Store().NewID()
	if create.Id != nil {
		var err error
		if id, err = uuid.Parse(create.GetId()); err != nil {
			return nil, fmt.Errorf("read the id of a task run: %w", err)
		}
	}
	run := &orchv1.TaskRun{
		Id:              id.String(),
		Name:            create.GetName(),
		FlowRunId:       create.FlowRunId,
		TaskKey:         create.GetTaskKey(),
		DynamicKey:      create.GetDynamicKey(),
		CacheKey:        create.CacheKey,
		CacheExpiration: create.CacheExpiration,
		TaskVersion:     create.TaskVersion,
		EmpiricalPolicy: &orchv1.TaskRunPolicy{},
		Tags:            create.GetTags(),
		TaskInputs:      create.GetTaskInputs(),
	}
	if run.Name == "" {
		run.Name = naming.Random()
	}
	if create.GetEmpiricalPolicy() != nil {
		run.EmpiricalPolicy = proto.Clone(create.GetEmpiricalPolicy()).(*orchv1.TaskRunPolicy)
	}
	return run, nil
}

// belong copies the flow run's fields into a run and merges the labels of the flow run, the server and the run; later
// ones win.
func (s *Service) belong(run *orchv1.TaskRun, flowRun *orchv1.FlowRun, own *orchv1.Labels) {
	labels := map[string]*orchv1.Scalar{}
	if flowRun != nil {
		run.FlowId = new(flowRun.GetFlowId())
		run.DeploymentId = flowRun.DeploymentId
		maps.Copy(labels, flowRun.GetLabels())
		labels[s.vocab.Name("flow-run", "id")] = &orchv1.Scalar{Kind: &orchv1.Scalar_StringValue{StringValue: flowRun.GetId()}}
	}
	maps.Copy(labels, own.GetValues())
	run.Labels = &orchv1.Labels{Values: labels}
}
