// Package statehistory keeps the histories of runs: one row per state that a run had, known by the state's id.
//
// A row is born as an effect in the outbox of the run that the state was written to, and the relay carries it to the
// collection. Until then readers find it in the outbox, so that a client finds what it was told is stored:
//
//	set_state ──► run (outbox: row) ──relay──► rows
//	               ▲                            ▲
//	               └──────── Log reads ─────────┘
package statehistory

import (
	"context"
	"errors"
	"sort"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Row is a message that keeps one state of a run.
type Row interface {
	proto.Message
	GetId() string
	GetState() *orchv1.State
}

// Run is a message that has such states.
type Run interface {
	proto.Message
	GetId() string
}

// Log is the history of all runs of one sort.
type Log[M Run, R Row] struct {
	// Runs are the documents whose outboxes the rows leave, and Rows where they go.
	Runs *store.Collection[M]
	Rows *store.Collection[R]
	// Kind is that of the effects that carry rows.
	Kind string
	// RunField is the field of a row that has the id of its run.
	RunField string
}

// Of answers the states of a run, oldest first. A run that is not there has none.
func (l Log[M, R]) Of(ctx context.Context, ws, run uuid.UUID) (*orchv1.StateList, error) {
	// The outbox first: a row that leaves it meanwhile is found in the history.
	waiting, err := l.waiting(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	rows, err := l.Rows.Find(ctx, ws, l.of(run), bson.D{{Key: "timestamp", Value: 1}, {Key: "_id", Value: 1}}, 0, -1)
	if err != nil {
		return nil, err
	}
	for _, one := range waiting {
		rows = append(rows, one.Message)
	}
	known := map[string]bool{}
	list := &orchv1.StateList{}
	for _, row := range rows {
		if !known[row.GetId()] {
			known[row.GetId()] = true
			list.States = append(list.States, row.GetState())
		}
	}
	sort.SliceStable(list.States, func(i, j int) bool {
		return list.States[i].GetTimestamp().AsTime().Before(list.States[j].GetTimestamp().AsTime())
	})
	return list, nil
}

// Get answers one state by its id, or store.ErrNotFound.
func (l Log[M, R]) Get(ctx context.Context, ws, id uuid.UUID) (*orchv1.State, error) {
	row, err := l.Rows.Get(ctx, ws, id)
	if err == nil {
		return row.GetState(), nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	// It may be so young that its row is still in an outbox.
	run, err := l.Runs.WithPending(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	runID, err := resourceid.Parse(run.GetId())
	if err != nil {
		return nil, err
	}
	return l.OfRun(ctx, ws, runID, id)
}

// OfRun answers one state of a run by its id, or store.ErrNotFound. It finds one in the outbox that the run was written
// with a moment ago.
func (l Log[M, R]) OfRun(ctx context.Context, ws, run, id uuid.UUID) (*orchv1.State, error) {
	waiting, err := l.waiting(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	for _, one := range waiting {
		if one.Message.GetId() == id.String() {
			return one.Message.GetState(), nil
		}
	}
	// It may have left the outbox between two looks; then its row is there now.
	row, err := l.Rows.Get(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	return row.GetState(), nil
}

// Write executes the effects of the log's kind. A row that is there already stays as it is.
func (l Log[M, R]) Write(ctx context.Context, effects []store.Effect) error {
	return l.Rows.InsertCarried(ctx, effects, nil)
}

// Forget deletes the history of a run.
func (l Log[M, R]) Forget(ctx context.Context, ws, run uuid.UUID) error {
	return l.Rows.DeleteMany(ctx, ws, l.of(run))
}

func (l Log[M, R]) of(run uuid.UUID) bson.D {
	return bson.D{{Key: l.RunField, Value: store.Binary(run)}}
}

// waiting reads the rows of a run that are still in its outbox.
func (l Log[M, R]) waiting(ctx context.Context, ws, run uuid.UUID) ([]store.Carried[R], error) {
	pending, err := l.Runs.Store().Pending(ctx, l.Runs.Name(), run)
	if err != nil {
		return nil, err
	}
	return l.Rows.CarriedBy(pending, l.Kind, ws)
}
