package workpools

import (
	"context"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ReadWorkPool returns a pool by its name.
func (s *Service) ReadWorkPool(ctx context.Context, r *orchv1.ReadWorkPoolRequest) (*orchv1.WorkPool, error) {
	ws, pool, err := s.locate(ctx, r.GetName())
	if err != nil {
		return nil, err
	}
	return pool, s.countSlots(ctx, ws, pool)
}

// ReadWorkPools returns the pools that match, by name.
func (s *Service) ReadWorkPools(ctx context.Context, r *orchv1.ReadWorkPoolsRequest) (*orchv1.WorkPoolList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	q := r.GetQuery()
	found, err := s.poolSource.List(ctx, q, nil, q)
	if err != nil {
		return nil, err
	}
	for _, pool := range found {
		if err := s.countSlots(ctx, info.Workspace, pool); err != nil {
			return nil, err
		}
	}
	return &orchv1.WorkPoolList{WorkPools: found}, nil
}

// CountWorkPools counts the pools that match.
func (s *Service) CountWorkPools(ctx context.Context, r *orchv1.CountWorkPoolsRequest) (*orchv1.CountResponse, error) {
	return s.poolSource.Count(ctx, r.GetQuery())
}

// countSlots fills in how many slots of a pool are taken, where it has a limit.
func (s *Service) countSlots(ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool) error {
	if pool.ConcurrencyLimit == nil {
		return nil
	}
	queues, err := s.queuesOf(ctx, ws, pool)
	if err != nil {
		return err
	}
	var taken int64
	for _, queue := range queues {
		n, err := s.activeRuns(ctx, ws, queue)
		if err != nil {
			return err
		}
		taken += n
	}
	pool.ActiveSlots = &taken
	return nil
}
