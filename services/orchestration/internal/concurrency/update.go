package concurrency

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateConcurrencyLimitV2 changes the sent fields.
func (s *Service) UpdateConcurrencyLimitV2(ctx context.Context, r *orchv1.UpdateConcurrencyLimitV2Request) (*emptypb.Empty, error) {
	ws, limit, err := s.locate(ctx, r.GetIdOrName())
	if err != nil {
		return nil, translate(err)
	}
	_, err = s.decide(ctx, ws, limit.GetId(), func(next *orchv1.ConcurrencyLimitV2) (*change, error) {
		before := proto.Clone(next)
		s.apply(next, r.GetConcurrencyLimit())
		if proto.Equal(before, next) {
			return nil, nil
		}
		updated, err := s.lifecycle(ws, next, before, "updated")
		if err != nil {
			return nil, err
		}
		return &change{Message: next, Effects: []store.Effect{updated}}, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, err
}

// apply copies the sent fields into a limit. A new decay starts now: it first applies the old one until now.
func (s *Service) apply(limit *orchv1.ConcurrencyLimitV2, u *orchv1.ConcurrencyLimitV2Update) {
	now := s.limits.Store().Now()
	if u.SlotDecayPerSecond != nil && u.GetSlotDecayPerSecond() != limit.GetSlotDecayPerSecond() {
		setActive(limit, active(limit, now), now)
		limit.DeniedSlots, limit.DeniedAt = denied(limit, now), timestamppb.New(now)
		limit.SlotDecayPerSecond = u.GetSlotDecayPerSecond()
	}
	if u.Active != nil {
		limit.Active = u.GetActive()
	}
	if u.Name != nil {
		limit.Name = u.GetName()
	}
	if u.Limit != nil {
		limit.Limit = u.GetLimit()
	}
	if u.ActiveSlots != nil {
		setActive(limit, u.GetActiveSlots(), now)
	}
	if u.DeniedSlots != nil {
		limit.DeniedSlots, limit.DeniedAt = u.GetDeniedSlots(), timestamppb.New(now)
	}
}
