package concurrency

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func rate(mode orchv1.ConcurrencyMode) bool {
	return mode == orchv1.ConcurrencyMode_CONCURRENCY_MODE_RATE_LIMIT
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// BulkIncrementActiveSlots takes slots until their release by count.
func (s *Service) BulkIncrementActiveSlots(ctx context.Context, r *orchv1.BulkIncrementActiveSlotsRequest) (*orchv1.MinimalConcurrencyLimitList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	i := r.GetIncrement()
	limits, err := s.Acquire(ctx, info.Workspace, Acquisition{
		Names: i.GetNames(), Slots: i.GetSlots(), Rate: rate(i.GetMode()), Connection: info.Connection,
	})
	if err != nil {
		return nil, translate(err)
	}
	return &orchv1.MinimalConcurrencyLimitList{Limits: minimal(limits, "")}, nil
}

// BulkIncrementActiveSlotsWithLease takes slots under a lease.
func (s *Service) BulkIncrementActiveSlotsWithLease(ctx context.Context, r *orchv1.BulkIncrementActiveSlotsWithLeaseRequest) (*orchv1.ConcurrencyLimitWithLeaseResponse, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	i := r.GetIncrement()
	lease := &Lease{ID: s.limits.Store().NewID(), Duration: seconds(i.GetLeaseDuration()), Holder: i.GetHolder()}
	limits, err := s.Acquire(ctx, info.Workspace, Acquisition{
		Names: i.GetNames(), Slots: i.GetSlots(), Rate: rate(i.GetMode()), Connection: info.Connection, Lease: lease,
	})
	if err != nil {
		return nil, translate(err)
	}
	return &orchv1.ConcurrencyLimitWithLeaseResponse{LeaseId: lease.ID.String(), Limits: minimal(limits, "")}, nil
}

// BulkDecrementActiveSlots releases slots by count.
func (s *Service) BulkDecrementActiveSlots(ctx context.Context, r *orchv1.BulkDecrementActiveSlotsRequest) (*orchv1.MinimalConcurrencyLimitList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	d := r.GetDecrement()
	limits, err := s.Decrement(ctx, info.Workspace, d.GetNames(), d.GetSlots(), d.OccupancySeconds)
	if err != nil {
		return nil, translate(err)
	}
	return &orchv1.MinimalConcurrencyLimitList{Limits: minimal(limits, "")}, nil
}

// BulkDecrementActiveSlotsWithLease releases the slots of a lease.
func (s *Service) BulkDecrementActiveSlotsWithLease(ctx context.Context, r *orchv1.BulkDecrementActiveSlotsWithLeaseRequest) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	lease, err := parseLease(r.GetDecrement().GetLeaseId())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.Release(ctx, info.Workspace, lease)
}

// RenewConcurrencyLease extends a lease.
func (s *Service) RenewConcurrencyLease(ctx context.Context, r *orchv1.RenewConcurrencyLeaseRequest) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	lease, err := parseLease(r.GetLeaseId())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, translate(s.Renew(ctx, info.Workspace, lease, seconds(r.GetRenewal().GetLeaseDuration())))
}

func parseLease(id string) (uuid.UUID, error) {
	lease, err := uuid.Parse(id)
	if err != nil {
		return uuid.Nil, fmt.Errorf("read the id of a lease: %w", err)
	}
	return lease, nil
}
