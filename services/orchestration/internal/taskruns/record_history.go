package taskruns

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// historyRuns maps each state of a batch to the run in whose history it was written.
type historyRuns map[string]string

// appendHistory writes the history of the runs in a ledger, each state once, with the id of its event. The ids of new runs are
// provisional, because another run may hold their key.
func (s *Service) appendHistory(ctx context.Context, ws uuid.UUID, work *recordBatch) (historyRuns, error) {
	runs := historyRuns{}
	var rows []bson.Raw
	for _, e := range work.entries {
		for _, r := range e.events {
			row, err := stateRow(ws, e.run.GetId(), r.state)
			if err != nil {
				return nil, err
			}
			runs[r.state.GetId()] = e.run.GetId()
			rows = append(rows, row)
		}
	}
	return runs, s.states.InsertNew(ctx, rows)
}

// correctHistory corrects history rows with provisional run ids: it moves rows to the run's final id and deletes rows of
// deleted runs. After a crash in between, redelivery executes both steps.
func (s *Service) correctHistory(ctx context.Context, ws uuid.UUID, work *recordBatch, runs historyRuns) error {
	var misfiled bson.A
	var rows []bson.Raw
	for _, e := range work.entries {
		for _, r := range e.events {
			if !e.deleted && runs[r.state.GetId()] == e.run.GetId() {
				continue
			}
			id, err := uuid.Parse(r.state.GetId())
			if err != nil {
				return fmt.Errorf("read the id of a state: %w", err)
			}
			misfiled = append(misfiled, store.Binary(id))
			if e.deleted {
				continue
			}
			row, err := stateRow(ws, e.run.GetId(), r.state)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
	}
	if len(misfiled) == 0 {
		return nil
	}
	if err := s.states.DeleteMany(ctx, ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: misfiled}}}}); err != nil {
		return err
	}
	return s.states.InsertNew(ctx, rows)
}

func stateRow(ws uuid.UUID, run string, state *orchv1.State) (bson.Raw, error) {
	return store.NewDocument(ws, &orchv1.TaskRunStateRecord{
		Id: state.GetId(), TaskRunId: run, Timestamp: state.GetTimestamp(), State: state,
	}, time.Time{})
}
