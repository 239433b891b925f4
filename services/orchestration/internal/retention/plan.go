package retention

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// planLimit bounds the count of a step.
const planLimit = 1_000_000

// PlanRetention counts what the rules of the request, or those of the workspace, select. It deletes nothing.
func (s *Service) PlanRetention(ctx context.Context, r *orchv1.PlanRetentionRequest) (*orchv1.RetentionPlan, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	list := r.GetQuery().GetRules().GetValues()
	if r.GetQuery().GetRules() == nil {
		policy, err := s.policy(ctx, info.Workspace)
		if err != nil {
			return nil, err
		}
		list = policy.GetRules()
	}
	if err := check(list); err != nil {
		return nil, err
	}
	plan := &orchv1.RetentionPlan{}
	for _, one := range steps(info.Workspace, list, s.now()) {
		planned := &orchv1.RetentionPlanStep{Rule: one.rule, Before: timestamppb.New(one.expired.Before)}
		if !one.done {
			if planned.Documents, err = s.kinds[one.rule.GetKind()].Count(ctx, info.Workspace, one.expired, planLimit+1); err != nil {
				return nil, err
			}
		}
		if planned.More = planned.GetDocuments() > planLimit; planned.GetMore() {
			planned.Documents = planLimit
		}
		plan.Steps = append(plan.Steps, planned)
	}
	return plan, nil
}
