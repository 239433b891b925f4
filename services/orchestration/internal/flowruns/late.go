package flowruns

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// lateAfter is how long after its time a run may start and not be called late.
const lateAfter = 15 * time.Second

// Names of states of scheduled runs: as they are made, and when nobody took them in time.
const (
	nameScheduled = "Scheduled"
	nameLate      = "Late"
)

// lateSweep visits the runs that should have started, those that wait longest first.
func lateSweep() *sweep {
	return &sweep{
		field: "next_scheduled_start_time", policy: rules.MarkLatePolicy,
		value: func(run *orchv1.FlowRun) time.Time { return run.GetNextScheduledStartTime().AsTime() },
	}
}

// stateSweep visits runs in the order of their states' times.
func stateSweep() *sweep {
	return &sweep{
		field: "state.timestamp", policy: rules.MinimalFlowPolicy,
		value: func(run *orchv1.FlowRun) time.Time { return run.GetState().GetTimestamp().AsTime() },
	}
}

// MarkLate marks the runs that should have started by now and did not, and returns how many. They keep their time. A pass
// ends before its deadline; the next one goes on with those that are left.
func (s *Service) MarkLate(ctx context.Context) (marked int, err error) {
	before := s.runs.Store().Now().Add(-lateAfter)
	return s.late.pass(ctx, s, bson.D{
		{Key: "state.name", Value: nameScheduled},
		{Key: "next_scheduled_start_time", Value: bson.D{{Key: "$lt", Value: before.UnixMicro()}}},
		{Key: "state.type", Value: rules.StateName(orchv1.StateType_STATE_TYPE_SCHEDULED)},
	}, proposing(func(current *orchv1.FlowRun) *orchv1.StateCreate {
		state, next := current.GetState(), current.GetNextScheduledStartTime()
		if state.GetType() != orchv1.StateType_STATE_TYPE_SCHEDULED || state.GetName() != nameScheduled ||
			next == nil || !next.AsTime().Before(before) {
			return nil
		}
		return &orchv1.StateCreate{
			Type: orchv1.StateType_STATE_TYPE_SCHEDULED, Name: new(nameLate),
			StateDetails: rules.NewDetails(next),
		}
	}))
}
