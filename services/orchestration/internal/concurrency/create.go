package concurrency

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// CreateConcurrencyLimitV2 stores a limit, whose name must be unused.
func (s *Service) CreateConcurrencyLimitV2(ctx context.Context, r *orchv1.CreateConcurrencyLimitV2Request) (*orchv1.ConcurrencyLimitV2, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	create := r.GetConcurrencyLimit()
	return s.insert(ctx, info.Workspace, &orchv1.ConcurrencyLimitV2{
		Id:                 s.limits.Store().NewID().String(),
		Active:             create.GetActive(),
		Name:               create.GetName(),
		Limit:              create.GetLimit(),
		ActiveSlots:        create.GetActiveSlots(),
		DeniedSlots:        create.GetDeniedSlots(),
		SlotDecayPerSecond: create.GetSlotDecayPerSecond(),
	})
}

func (l *Limits) insert(ctx context.Context, ws uuid.UUID, limit *orchv1.ConcurrencyLimitV2) (*orchv1.ConcurrencyLimitV2, error) {
	now := l.limits.Store().Now()
	begin(limit, now)
	created, err := l.lifecycle(ws, limit, nil, "created")
	if err != nil {
		return nil, err
	}
	return limit, l.limits.Insert(ctx, ws, limit, created)
}
