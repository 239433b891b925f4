package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// StateRow is a message that stores one state of a run.
type StateRow interface {
	proto.Message
	GetId() string
	GetState() *orchv1.State
}

// Run is a message with such states.
type Run interface {
	proto.Message
	GetId() string
}

// History is the history of all runs of one kind: one row for each state of a run, identified by the state's id.
//
// A row starts as an effect in the outbox of its run, and the relay inserts it into the collection. Until then readers
// find it in the outbox, so a client can read every state whose write was confirmed:
//
//	set_state ──► run (outbox: row) ──relay──► rows
//	               ▲                            ▲
//	               └────── History reads ───────┘
type History[M Run, R StateRow] struct {
	// Runs are the documents with the outboxes, and Rows the stored rows.
	Runs *store.Collection[M]
	Rows *store.Collection[R]
	// Kind is the kind of the effects with rows.
	Kind string
	// RunField is the field of a row with the id of its run.
	RunField string
}

// Of returns the states of a run, oldest first. An unknown run has none.
func (h History[M, R]) Of(ctx context.Context, ws, run uuid.UUID) (*orchv1.StateList, error) {
	// Read the outbox first: a row that leaves it concurrently is then found in the history.
	waiting, err := h.waiting(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	rows, err := h.Rows.Find(ctx, ws, store.Query{Filter: h.rowsOf(run), Bytes: store.MaxAnswerBytes})
	if err != nil {
		return nil, err
	}
	for _, pending := range waiting {
		rows = append(rows, pending.Message)
	}
	seen := map[string]bool{}
	list := &orchv1.StateList{}
	for _, row := range rows {
		if !seen[row.GetId()] {
			seen[row.GetId()] = true
			list.States = append(list.States, row.GetState())
		}
	}
	slices.SortFunc(list.States, func(a, b *orchv1.State) int {
		return cmp.Or(a.GetTimestamp().AsTime().Compare(b.GetTimestamp().AsTime()), strings.Compare(a.GetId(), b.GetId()))
	})
	return list, nil
}

// Get returns a state by its id, or store.ErrNotFound.
func (h History[M, R]) Get(ctx context.Context, ws, id uuid.UUID) (*orchv1.State, error) {
	row, err := h.Rows.Get(ctx, ws, id)
	if err == nil {
		return row.GetState(), nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	// The row of a recent state may still be in an outbox.
	run, err := store.WithPending(ctx, h.Runs, ws, id)
	if err != nil {
		return nil, err
	}
	runID, err := resourceid.Parse(run.GetId())
	if err != nil {
		return nil, err
	}
	return h.OfRun(ctx, ws, runID, id)
}

// OfRun returns a state of a run by its id, or store.ErrNotFound. It also finds a recent state in the run's outbox.
func (h History[M, R]) OfRun(ctx context.Context, ws, run, id uuid.UUID) (*orchv1.State, error) {
	waiting, err := h.waiting(ctx, ws, run)
	if err != nil {
		return nil, err
	}
	for _, pending := range waiting {
		if pending.Message.GetId() == id.String() {
			return pending.Message.GetState(), nil
		}
	}
	// The row may have left the outbox concurrently; then it is stored.
	row, err := h.Rows.Get(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	return row.GetState(), nil
}

// Write executes the effects of the history's kind. Existing rows are unchanged.
func (h History[M, R]) Write(ctx context.Context, effects []store.Effect) error {
	return store.InsertMessages(ctx, h.Rows, effects, nil)
}

// Forget deletes the histories of runs; it needs at least one.
func (h History[M, R]) Forget(ctx context.Context, ws uuid.UUID, runs ...uuid.UUID) error {
	return h.Rows.DeleteMany(ctx, ws, bson.D{{Key: h.RunField, Value: store.OneOf(runs)}})
}

func (h History[M, R]) rowsOf(run uuid.UUID) bson.D {
	return bson.D{{Key: h.RunField, Value: store.Binary(run)}}
}

// waiting reads the rows of a run that are still in its outbox.
func (h History[M, R]) waiting(ctx context.Context, ws, run uuid.UUID) ([]store.Message[R], error) {
	pending, err := h.Runs.Store().Pending(ctx, h.Runs.Name(), store.DocumentKey{Workspace: ws, ID: run})
	if err != nil {
		return nil, err
	}
	return store.PendingMessages(h.Rows, pending, h.Kind, ws)
}
