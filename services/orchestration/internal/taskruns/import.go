package taskruns

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Imported completes a run of another server into its stored form. A deferred run waits for a task worker again.
func Imported(run *orchv1.TaskRun, now *timestamppb.Timestamp) {
	run.SortStart = sortStart(run)
	if run.EmpiricalPolicy == nil {
		run.EmpiricalPolicy = &orchv1.TaskRunPolicy{}
	}
	if waits(run) {
		run.OfferAt = now
	}
}
