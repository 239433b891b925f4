package flowruns

import (
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// Imported completes a run of another server into its stored form.
func Imported(run *orchv1.FlowRun) {
	run.SortStart = run.StartTime
	if run.SortStart == nil {
		run.SortStart = run.ExpectedStartTime
	}
	run.EmpiricalPolicy = policy(run.GetEmpiricalPolicy())
	if run.Labels == nil {
		run.Labels = map[string]*orchv1.Scalar{}
	}
	rules.RankRun(run)
}

// ImportedState completes the history row of a state of another server. The revision of its run is not known: the state's time, which
// is unique in a run and far from every revision, takes its place.
func ImportedState(row *orchv1.FlowRunStateRecord) {
	row.Timestamp = row.GetState().GetTimestamp()
	row.RunRevision = row.GetTimestamp().AsTime().UnixMicro()
}
