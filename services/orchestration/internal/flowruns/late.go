package flowruns

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
)

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

// deadlineSweep visits the runs that should have started by a deadline, the earliest deadline first.
func deadlineSweep() *sweep {
	return &sweep{
		field: "start_deadline", policy: rules.MinimalFlowPolicy,
		value: func(run *orchv1.FlowRun) time.Time { return run.GetStartDeadline().AsTime() },
	}
}

// stateSweep visits runs in the order of their states' times.
func stateSweep() *sweep {
	return &sweep{
		field: "state.timestamp", policy: rules.MinimalFlowPolicy,
		value: func(run *orchv1.FlowRun) time.Time { return run.GetState().GetTimestamp().AsTime() },
	}
}

// MarkLate skips the runs that have not started by their deadlines, marks the other late ones, and returns how many. Those keep their
// time. A pass ends before its deadline; the next one goes on with those that are left.
func (s *Service) MarkLate(ctx context.Context) (changed int, err error) {
	now := s.runs.Store().Now()
	skipped, err := s.deadlines.pass(ctx, s, bson.D{
		{Key: "start_deadline", Value: bson.D{{Key: "$lte", Value: now.UnixMicro()}}},
	}, proposing(func(current *orchv1.FlowRun) *orchv1.StateCreate { return rules.Skipped(current, now) }))
	marked, failure := s.markLate(ctx, now.Add(-runorder.LateAfter))
	return skipped + marked, errors.Join(err, failure)
}

// markLate marks the runs that should have started before a time.
func (s *Service) markLate(ctx context.Context, before time.Time) (int, error) {
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
