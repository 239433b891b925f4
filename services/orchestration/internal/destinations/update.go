package destinations

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateDestination changes the sent fields. The circuit closes and the destination becomes due, because the owner may have removed
// the cause of failures.
func (s *Service) UpdateDestination(ctx context.Context, r *orchv1.UpdateDestinationRequest) (*emptypb.Empty, error) {
	update := r.GetDestination()
	return crud.ByID(ctx, notFound, r.GetId(), func(ctx context.Context, ws, id uuid.UUID) (*emptypb.Empty, error) {
		changed, err := s.destinations.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.Destination) error {
			fields := r.GetUpdateMask().GetPaths()
			if err := ownedByBlock(next); err != nil && !slices.Equal(fields, []string{"enabled"}) {
				return err
			}
			if err := s.apply(ws, next, update, optionals{update.RateLimit, update.Proxy}, fields); err != nil {
				return err
			}
			next.Circuit = nil
			s.setDue(next)
			return nil
		}, func(current, next *orchv1.Destination) ([]store.Effect, error) {
			effects, err := s.lifecycle.Updated(ctx, ws)(current, next)
			if err != nil {
				return nil, err
			}
			return s.audited(ctx, ws, next, "updated", effects)
		}))
		if errors.Is(err, store.ErrDuplicate) {
			return nil, conflict(&orchv1.Destination{Name: update.GetName()})
		}
		if err != nil {
			return nil, err
		}
		s.flush(ctx, ws, id)
		if changed.GetEnabled() {
			s.wake()
		}
		return &emptypb.Empty{}, nil
	})
}

// setDue makes a destination due at once. The holder of a claim notices the change by the sequence.
func (s *Service) setDue(next *orchv1.Destination) {
	next.Sequence++
	if !next.GetClaimed() {
		next.Due = proto.Int64(s.Store.Now().UnixMicro())
	}
}
