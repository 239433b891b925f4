package flowruns

import (
	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// waits announces the pools of runs that were written and wait for a worker, each once.
func (s *Service) waits(ws uuid.UUID, runs ...*orchv1.FlowRun) {
	announced := map[string]bool{}
	for _, run := range runs {
		pool := run.GetWorkPoolName()
		if pool == "" || announced[pool] || run.GetState().GetType() != orchv1.StateType_STATE_TYPE_SCHEDULED {
			continue
		}
		announced[pool] = true
		s.onWaiting(ws, pool)
	}
}
