package flowruns

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// ExpirePauses fails the runs whose pause timed out, and returns how many.
func (s *Service) ExpirePauses(ctx context.Context) (expired int, err error) {
	now := s.runs.Store().Now()
	return s.pauses.pass(ctx, s, bson.D{
		{Key: "state.type", Value: rules.StateName(orchv1.StateType_STATE_TYPE_PAUSED)},
		{Key: "state.state_details.pause_timeout", Value: bson.D{{Key: "$lt", Value: now.UnixMicro()}}},
	}, proposing(func(current *orchv1.FlowRun) *orchv1.StateCreate {
		state := current.GetState()
		over := state.GetStateDetails().GetPauseTimeout()
		if state.GetType() != orchv1.StateType_STATE_TYPE_PAUSED || over == nil || !over.AsTime().Before(now) {
			return nil
		}
		return &orchv1.StateCreate{
			Type: orchv1.StateType_STATE_TYPE_FAILED, Message: new("The flow was paused and never resumed."),
		}
	}))
}
