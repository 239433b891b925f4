package flowruns

import (
	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/feeds"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// notifyWaiting notifies each work pool that has newly scheduled runs, once for each pool. A run that starts later is found by
// the next poll of a channel. A run that becomes late was announced before.
func (s *Service) notifyWaiting(ws uuid.UUID, runs ...*orchv1.FlowRun) {
	soon := s.runs.Store().Now().Add(feeds.RunsAhead)
	announced := map[string]bool{}
	for _, run := range runs {
		pool, state := run.GetWorkPoolName(), run.GetState()
		switch {
		case pool == "" || announced[pool]:
			continue
		case state.GetType() != orchv1.StateType_STATE_TYPE_SCHEDULED || state.GetName() == nameLate:
			continue
		case run.GetNextScheduledStartTime().AsTime().After(soon):
			continue
		}
		announced[pool] = true
		s.onWaiting(ws, pool)
	}
}
