package flowruns

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
)

// CheckOrder refuses labels and job variables with an invalid priority or weight.
func (s *Service) CheckOrder(labels map[string]*orchv1.Scalar, variables []byte) error {
	if err := s.order.Check(labels, variables); err != nil {
		return rpc.Invalid(rpc.BodyError("value_error", "Value error, "+err.Error()))
	}
	return nil
}

// LabelsOf returns the labels of a new run of a deployment and of its schedule, if any.
func (s *Service) LabelsOf(d *orchv1.Deployment, schedule *orchv1.DeploymentSchedule) map[string]*orchv1.Scalar {
	return s.order.Inherit(d, schedule.GetSlug())
}

// prioritize sets the priority of a run by its labels and job variables, and moves its rank by the difference.
func (s *Service) prioritize(run *orchv1.FlowRun) {
	before := run.GetPriority()
	run.Priority = nil
	if points := s.order.Priority(run.GetLabels(), run.GetJobVariables()); points > 0 {
		run.Priority = &points
	}
	if run.Rank != nil {
		run.Rank = timestamppb.New(runorder.Rank(run.GetRank().AsTime(), run.GetPriority()-before))
	}
}
