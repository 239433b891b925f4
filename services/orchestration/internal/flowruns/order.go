package flowruns

import (
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
)

// CheckOrder refuses labels and job variables with an invalid priority, weight or lateness.
func (s *Service) CheckOrder(labels map[string]*orchv1.Scalar, variables []byte) error {
	if err := s.order.Check(labels, variables); err != nil {
		return rpc.Invalid(rpc.BodyError("value_error", "Value error, "+err.Error()))
	}
	return nil
}

// LabelsOf returns the labels of a new run of a deployment and of its schedule, if any.
func (s *Service) LabelsOf(d *orchv1.Deployment, schedule *orchv1.DeploymentSchedule) map[string]*orchv1.Scalar {
	return s.order.Inherit(d, schedule)
}

// prioritize sets the priority, the weight and the lateness limit of a run by its labels and job variables, and ranks a waiting run
// accordingly.
func (s *Service) prioritize(run *orchv1.FlowRun) {
	start := runorder.Start(run.GetRank().AsTime(), run.GetPriority())
	run.Priority, run.Weight, run.LatenessLimit = nil, nil, nil
	if points := s.order.Priority(run.GetLabels(), run.GetJobVariables()); points > 0 {
		run.Priority = &points
	}
	if weight := s.order.Weight(run.GetLabels(), run.GetJobVariables()); weight > 0 {
		run.Weight = &weight
	}
	if limit := s.order.LatenessLimit(run.GetLabels(), run.GetJobVariables()); limit > 0 {
		run.LatenessLimit = &limit
	}
	if run.Rank != nil {
		rules.RankRunAt(run, start)
	}
}
