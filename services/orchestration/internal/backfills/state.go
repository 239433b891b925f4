package backfills

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	running   = orchv1.BackfillState_BACKFILL_STATE_RUNNING
	paused    = orchv1.BackfillState_BACKFILL_STATE_PAUSED
	completed = orchv1.BackfillState_BACKFILL_STATE_COMPLETED
	cancelled = orchv1.BackfillState_BACKFILL_STATE_CANCELLED
)

// PauseBackfill pauses a backfill.
func (s *Service) PauseBackfill(ctx context.Context, r *orchv1.PauseBackfillRequest) (*orchv1.Backfill, error) {
	return s.become(ctx, r.GetId(), paused, running)
}

// ResumeBackfill resumes a paused backfill.
func (s *Service) ResumeBackfill(ctx context.Context, r *orchv1.ResumeBackfillRequest) (*orchv1.Backfill, error) {
	return s.become(ctx, r.GetId(), running, paused)
}

// CancelBackfill cancels a backfill. The next pass cancels its unfinished runs.
func (s *Service) CancelBackfill(ctx context.Context, r *orchv1.CancelBackfillRequest) (*orchv1.Backfill, error) {
	return s.become(ctx, r.GetId(), cancelled, running, paused)
}

// verbs end the names of the events that report a state.
var verbs = map[orchv1.BackfillState]string{running: "resumed", paused: "paused", completed: "completed", cancelled: "cancelled"}

// become changes the state of a backfill, unless it has that state already. Another state than those in from is a 409.
func (s *Service) become(ctx context.Context, id string, to orchv1.BackfillState, from ...orchv1.BackfillState) (*orchv1.Backfill, error) {
	return crud.ByID(ctx, notFound, id, func(ctx context.Context, ws, id uuid.UUID) (*orchv1.Backfill, error) {
		changed, err := s.backfills.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.Backfill) error {
			if next.GetState() == to {
				return nil
			}
			if !slices.Contains(from, next.GetState()) {
				return rpc.Detail(http.StatusConflict, fmt.Sprintf("The backfill is %s and cannot be %s.", stateName(next.GetState()), verbs[to]))
			}
			s.enter(next, to)
			return nil
		}, s.events(ctx, ws)))
		if err != nil {
			return nil, err
		}
		s.flush.Flush(ctx, query.Backfill, ws, id)
		return present(proto.CloneOf(changed)), nil
	})
}

// enter sets the state of a backfill.
func (s *Service) enter(b *orchv1.Backfill, to orchv1.BackfillState) {
	b.State = to
	if to == completed || to == cancelled {
		b.Ended = timestamppb.New(s.backfills.Store().Now())
	}
}

// events returns the effects of a change for store.Edit: an event if the state changed.
func (s *Service) events(ctx context.Context, ws uuid.UUID) func(current, next *orchv1.Backfill) ([]store.Effect, error) {
	return func(current, next *orchv1.Backfill) ([]store.Effect, error) {
		if current.GetState() == next.GetState() {
			return nil, nil
		}
		event, err := s.lifecycle.Effect(ctx, ws, verbs[next.GetState()], current, present(next))
		return []store.Effect{event}, err
	}
}

// stateName returns a state in the words of a sentence.
func stateName(state orchv1.BackfillState) string {
	return strings.ToLower(strings.TrimPrefix(state.String(), "BACKFILL_STATE_"))
}

// DeleteBackfill deletes a backfill whose runs have all ended.
func (s *Service) DeleteBackfill(ctx context.Context, r *orchv1.DeleteBackfillRequest) (*emptypb.Empty, error) {
	return crud.Delete(ctx, notFound, r.GetId(), func(ctx context.Context, ws, id uuid.UUID) error {
		deleted := s.lifecycle.Deleted(ctx, ws)
		return s.backfills.Delete(ctx, ws, id, func(current *orchv1.Backfill) ([]store.Effect, error) {
			if current.GetOpen() {
				return nil, rpc.Detail(http.StatusConflict, "The backfill has not ended. Cancel it first.")
			}
			return deleted(current)
		})
	})
}
