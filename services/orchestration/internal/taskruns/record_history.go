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

// filing tells under which run each state of a batch was filed in the history, by the state's id.
type filing map[string]string

// file writes the history of the runs in a ledger: every state once, known by the id of its event. The ids of new runs
// are not certain yet, since a run may have their key under another id.
func (s *Service) file(ctx context.Context, ws uuid.UUID, work *ledger) (filing, error) {
	filed := filing{}
	var rows []bson.Raw
	for _, e := range work.entries {
		for _, r := range e.said {
			row, err := stateRow(ws, e.run.GetId(), r.state)
			if err != nil {
				return nil, err
			}
			filed[r.state.GetId()] = e.run.GetId()
			rows = append(rows, row)
		}
	}
	return filed, s.states.InsertNew(ctx, rows)
}

// refile puts right what was filed under ids that proved to be wrong: a state whose run has another id moves there, one
// whose run is gone is taken out. After a crash between the two the batch comes again, and is filed wrongly and put
// right once more.
func (s *Service) refile(ctx context.Context, ws uuid.UUID, work *ledger, filed filing) error {
	var misfiled bson.A
	var rows []bson.Raw
	for _, e := range work.entries {
		for _, r := range e.said {
			if !e.gone && filed[r.state.GetId()] == e.run.GetId() {
				continue
			}
			id, err := uuid.Parse(r.state.GetId())
			if err != nil {
				return fmt.Errorf("read the id of a state: %w", err)
			}
			misfiled = append(misfiled, store.Binary(id))
			if e.gone {
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
