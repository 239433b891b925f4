package concurrency

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteConcurrencyLimitV2 deletes a limit.
func (s *Service) DeleteConcurrencyLimitV2(ctx context.Context, r *orchv1.DeleteConcurrencyLimitV2Request) (*emptypb.Empty, error) {
	ws, limit, err := s.locate(ctx, r.GetIdOrName())
	if err != nil {
		return nil, translate(err)
	}
	if err := s.delete(ctx, ws, limit.GetId(), always); err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

// always allows a deletion.
func always() error { return nil }

// delete deletes a limit unless allow, which is called after each read of the limit, returns an error.
func (l *Limits) delete(ctx context.Context, ws uuid.UUID, id string, allow func() error) error {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return fmt.Errorf("read the id of a concurrency limit: %w", err)
	}
	return l.limits.Delete(ctx, ws, parsed, func(current *orchv1.ConcurrencyLimitV2) ([]store.Effect, error) {
		if err := allow(); err != nil {
			return nil, err
		}
		deleted, err := l.lifecycle(ws, current, nil, "deleted")
		if err != nil {
			return nil, err
		}
		leases, err := l.orphans(ws, current)
		if err != nil {
			return nil, err
		}
		return []store.Effect{deleted, leases}, nil
	})
}
