package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
)

// toggle pauses or resumes a deployment, an automation, a work pool or a work queue.
func (r *Runner) toggle(
	ctx context.Context, o *result, run *orchv1.AutomationActionRun, k kindOf, selected string, source orchv1.ActionSource, pause bool,
) *result {
	id, ok := r.target(o, run, k, selected, source)
	if !ok {
		return o
	}
	var method string
	var request proto.Message
	switch k {
	case deployment:
		method, request = orchv1.DeploymentService_ResumeDeployment_FullMethodName, &orchv1.ResumeDeploymentRequest{Id: id}
		if pause {
			method, request = orchv1.DeploymentService_PauseDeployment_FullMethodName, &orchv1.PauseDeploymentRequest{Id: id}
		}
	case automation:
		method = orchv1.AutomationService_PatchAutomation_FullMethodName
		request = &orchv1.PatchAutomationRequest{Id: id, Automation: &orchv1.AutomationPartialUpdate{Enabled: !pause}, UpdateMask: mask("enabled")}
	case workQueue:
		method = orchv1.WorkQueueService_UpdateWorkQueue_FullMethodName
		request = &orchv1.UpdateWorkQueueRequest{Id: id, WorkQueue: &orchv1.WorkQueueUpdate{IsPaused: pause}, UpdateMask: mask("is_paused")}
	case workPool:
		name, err := r.poolName(ctx, id)
		if errors.Is(err, errNoPool) {
			o.details["status_code"] = http.StatusNotFound
			return o.fail("Unexpected status from '%s' action: %d", engine.ActionType(run.GetAction()), http.StatusNotFound)
		}
		if err != nil {
			return o.later(err)
		}
		o.related[len(o.related)-1].Labels[r.Vocabulary.ResourceName()] = name
		method = orchv1.WorkPoolService_UpdateWorkPool_FullMethodName
		request = &orchv1.UpdateWorkPoolRequest{Name: name, WorkPool: &orchv1.WorkPoolUpdate{IsPaused: &pause}, UpdateMask: mask("is_paused")}
	}
	r.call(ctx, o, method, request, engine.ActionType(run.GetAction()))
	return o
}

func mask(paths ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: paths} }

var errNoPool = errors.New("work pool not found")

// poolName looks up the name of a work pool, by which the API identifies it.
func (r *Runner) poolName(ctx context.Context, id string) (string, error) {
	response, _, err := r.Caller.Call(ctx, orchv1.WorkPoolService_ReadWorkPools_FullMethodName, &orchv1.ReadWorkPoolsRequest{
		Query: &orchv1.WorkPoolQuery{WorkPools: &orchv1.WorkPoolFilter{Id: &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{Values: []string{id}}}}},
	})
	if err != nil {
		return "", fmt.Errorf("find work pool %s: %w", id, err)
	}
	if list, ok := response.(*orchv1.WorkPoolList); ok && len(list.GetWorkPools()) == 1 {
		return list.GetWorkPools()[0].GetName(), nil
	}
	return "", errNoPool
}
