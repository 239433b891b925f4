package taskruns

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sort"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadTaskRunStates answers a run's history, oldest first. Rows that the relay has not written yet are read from the
// run's outbox, so that a client finds what it was told is stored.
func (s *Service) ReadTaskRunStates(ctx context.Context, r *orchv1.ReadTaskRunStatesRequest) (*orchv1.StateList, error) {
	ws, run, err := call.Locate(ctx, r.GetTaskRunId())
	if err != nil {
		return nil, err
	}
	// The outbox first: a row that leaves it meanwhile is found in the history.
	records, err := s.waiting(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	written, err := s.states.Find(ctx, ws, bson.D{{Key: "task_run_id", Value: store.Binary(run)}}, bson.D{{Key: "timestamp", Value: 1}, {Key: "_id", Value: 1}}, 0, -1)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	list := &orchv1.StateList{}
	for _, record := range append(written, records...) {
		if !known[record.GetId()] {
			known[record.GetId()] = true
			list.States = append(list.States, record.GetState())
		}
	}
	sort.SliceStable(list.States, func(i, j int) bool {
		return list.States[i].GetTimestamp().AsTime().Before(list.States[j].GetTimestamp().AsTime())
	})
	return list, nil
}

// waiting reads the rows of the history that are still in a run's outbox.
func (s *Service) waiting(ctx context.Context, ws, run uuid.UUID) ([]*orchv1.TaskRunStateRecord, error) {
	pending, err := s.runs.Store().Pending(ctx, query.TaskRun, run)
	if err != nil {
		return nil, err
	}
	var records []*orchv1.TaskRunStateRecord
	for _, e := range pending {
		if e.Kind != kindHistory {
			continue
		}
		record := &orchv1.TaskRunStateRecord{}
		of, err := read(e, record)
		if err != nil {
			return nil, err
		}
		// A run of another workspace shows nothing.
		if of == ws {
			records = append(records, record)
		}
	}
	return records, nil
}

// ReadTaskRunState answers one state of a run.
func (s *Service) ReadTaskRunState(ctx context.Context, r *orchv1.ReadTaskRunStateRequest) (*orchv1.State, error) {
	ws, id, err := call.Locate(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	state, err := s.state(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, rpc.Detail(http.StatusNotFound, "Task run state not found")
	}
	return state, err
}

func (s *Service) state(ctx context.Context, ws, id uuid.UUID) (*orchv1.State, error) {
	record, err := s.states.Get(ctx, ws, id)
	if !errors.Is(err, store.ErrNotFound) {
		return record.GetState(), err
	}
	// It may be so young that its row is still in an outbox.
	run, err := s.runs.First(ctx, ws, bson.D{{Key: "outbox.id", Value: store.Binary(id)}})
	if err != nil {
		return nil, err
	}
	runID, err := uuid.Parse(run.GetId())
	if err != nil {
		return nil, fmt.Errorf("read the id of a task run: %w", err)
	}
	records, err := s.waiting(ctx, ws, runID)
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		if record.GetId() == id.String() {
			return record.GetState(), nil
		}
	}
	// It left the outbox between the two looks, so its row is there now.
	record, err = s.states.Get(ctx, ws, id)
	return record.GetState(), err
}
