package flowruns

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/naming"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateFlowRun changes the fields that the request contains; it cannot change the state.
func (s *Service) UpdateFlowRun(ctx context.Context, r *orchv1.UpdateFlowRunRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if len(r.GetFlowRun().GetParameters()) > maxParameters {
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, parameters are larger than 512 KiB", "parameters"))
	}
	if err := s.CheckOrder(nil, r.GetFlowRun().GetJobVariables()); err != nil {
		return nil, err
	}
	_, err = s.runs.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.FlowRun) error {
		if err := mayUpdate(next, r.GetFlowRun(), r.GetUpdateMask().GetPaths()); err != nil {
			return err
		}
		overlay(next, r.GetFlowRun(), r.GetUpdateMask().GetPaths())
		s.prioritize(next)
		return nil
	}, nil))
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

// mayUpdate refuses job variables for a run that has started, or that has no deployment.
func mayUpdate(run *orchv1.FlowRun, update *orchv1.FlowRunUpdate, mask []string) error {
	if !slices.Contains(mask, "job_variables") || update.JobVariables == nil {
		return nil
	}
	if run.GetState().GetType() != orchv1.StateType_STATE_TYPE_SCHEDULED {
		return rpc.Detail(http.StatusBadRequest, fmt.Sprintf("Job variables for a flow run in state %s cannot be updated", rules.StateName(run.GetState().GetType())))
	}
	if run.DeploymentId == nil {
		return rpc.Detail(http.StatusBadRequest, "A deployment for the flow run could not be found")
	}
	return nil
}

// overlay sets the fields that a mask names.
func overlay(run *orchv1.FlowRun, update *orchv1.FlowRunUpdate, mask []string) {
	for _, field := range fieldmask.Apply(run, update, mask, "name", "empirical_policy") {
		switch field {
		case "name":
			// A run always has a name; clients send null for an unchanged one.
			if update.Name != nil {
				run.Name = cmp.Or(update.GetName(), naming.Random())
			}
		case "empirical_policy":
			run.EmpiricalPolicy = policy(update.GetEmpiricalPolicy())
		}
	}
}
