package flowruns

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ScheduledRun is a run that a schedule creates. Its ids are chosen by the caller, who may insert it again.
type ScheduledRun struct {
	Creation

	Flow           *orchv1.Flow
	RunID, StateID uuid.UUID
	// Generation is that of the deployment's schedules; see DeleteUnstarted.
	Generation int64
}

// scheduledBatch is how many runs one command inserts.
const scheduledBatch = 500

// InsertScheduled stores runs with the rows of their history, and returns how many are new. It omits a run whose flow and
// idempotency key are taken. There are no events, as clients expect it of runs that schedules create.
func (s *Service) InsertScheduled(ctx context.Context, ws uuid.UUID, scheduled []ScheduledRun) (created int, err error) {
	for chunk := range slices.Chunk(scheduled, scheduledBatch) {
		n, err := s.insertScheduled(ctx, ws, chunk)
		created += n
		if err != nil {
			return created, err
		}
	}
	return created, nil
}

func (s *Service) insertScheduled(ctx context.Context, ws uuid.UUID, scheduled []ScheduledRun) (int, error) {
	now := s.runs.Store().Now()
	runs := make([]*orchv1.FlowRun, len(scheduled))
	rows := make([]*orchv1.FlowRunStateRecord, len(scheduled))
	for i, one := range scheduled {
		run := s.newRun(one.RunID, one.Creation, one.Flow)
		run.ScheduleGeneration = &one.Generation
		t := rules.Propose(run, one.Run.GetState(), now, func() uuid.UUID { return one.StateID })
		rules.MinimalFlowPolicy.Judge(t)
		runs[i] = t.Run
		state := t.Proposed
		rows[i] = &orchv1.FlowRunStateRecord{
			Id: state.GetId(), FlowRunId: t.Run.GetId(), RunRevision: 1, Timestamp: state.GetTimestamp(), State: state,
		}
	}
	taken, err := store.InsertAll(ctx, s.runs, ws, runs)
	if err != nil {
		return 0, err
	}
	s.notifyWaiting(ws, runs...)
	created := len(runs) - len(taken)
	if len(taken) > 0 {
		if rows, err = s.withRuns(ctx, ws, rows, taken); err != nil {
			return created, err
		}
	}
	if _, err := store.InsertAll(ctx, s.history.Rows, ws, rows); err != nil {
		return created, fmt.Errorf("store the history of scheduled runs: %w", err)
	}
	return created, nil
}

// withRuns leaves out the rows whose runs were not inserted, now or by an attempt before.
func (s *Service) withRuns(
	ctx context.Context, ws uuid.UUID, rows []*orchv1.FlowRunStateRecord, taken []int,
) ([]*orchv1.FlowRunStateRecord, error) {
	var ids bson.A
	for _, i := range taken {
		id, err := uuid.Parse(rows[i].GetFlowRunId())
		if err != nil {
			return nil, fmt.Errorf("read the id of a flow run: %w", err)
		}
		ids = append(ids, store.Binary(id))
	}
	there := map[string]bool{}
	err := s.runs.Each(ctx, ws, store.Query{Filter: bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, Sort: bson.D{{Key: "_id", Value: 1}}},
		func(run *orchv1.FlowRun) bool {
			there[run.GetId()] = true
			return true
		})
	if err != nil {
		return nil, err
	}
	var kept []*orchv1.FlowRunStateRecord
	for i, row := range rows {
		if !slices.Contains(taken, i) || there[row.GetFlowRunId()] {
			kept = append(kept, row)
		}
	}
	return kept, nil
}
