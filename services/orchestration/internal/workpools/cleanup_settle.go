package workpools

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// SettleCleanupJob acknowledges, releases or renews a reservation. Any channel of the pool that knows the token may do so.
func (s *Service) SettleCleanupJob(ctx context.Context, r *orchv1.SettleCleanupJobRequest) (*orchv1.SettleCleanupJobResponse, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	id, err := resourceid.Parse(r.GetId())
	if err != nil {
		return outcome("not_found", "message_not_found"), nil //nolint:nilerr // The channel reports what it cannot find.
	}
	pool, err := resourceid.Parse(r.GetWorkPoolId())
	if err != nil {
		return nil, err
	}
	var settled *orchv1.SettleCleanupJobResponse
	now := s.cleanups.Store().Now()
	_, err = s.cleanups.Mutate(ctx, info.Workspace, id, store.Edit(func(next *orchv1.CleanupJob) error {
		settled = s.settle(next, r, now)
		return nil
	}, nil))
	if errors.Is(err, store.ErrNotFound) {
		return outcome("not_found", "message_not_found"), nil
	}
	if err != nil {
		return nil, err
	}
	s.notifyCleanup(info.Workspace, pool) // A released job is free, and an acknowledged one leaves its worker room for another.
	return settled, nil
}

// settle applies an operation to a job. The order of the checks is that of the protocol.
func (s *Service) settle(job *orchv1.CleanupJob, r *orchv1.SettleCleanupJobRequest, now time.Time) *orchv1.SettleCleanupJobResponse {
	last := job.GetDeliveryCount() >= maxDeliveries
	switch {
	case job.FreeAt == nil:
		return outcome("not_found", "message_not_found")
	case job.GetWorkPoolId() != r.GetWorkPoolId():
		return outcome("unauthorized", "work_pool_mismatch")
	case job.Token == nil:
		return outcome("not_current", "no_active_reservation")
	case subtle.ConstantTimeCompare([]byte(job.GetToken()), []byte(r.GetToken())) == 0:
		return outcome("invalid_token", "reservation_token_mismatch")
	case job.GetFreeAt() <= now.UnixMicro() && last:
		endJob(job, reasonDeliveries)
		return outcome("dead_lettered", reasonDeliveries)
	case job.GetFreeAt() <= now.UnixMicro():
		releaseJob(job, now)
		return outcome("expired", "lease_expired")
	}
	switch r.GetOperation() {
	case orchv1.CleanupOperation_CLEANUP_OPERATION_ACK:
		endJob(job, "")
	case orchv1.CleanupOperation_CLEANUP_OPERATION_RELEASE:
		if last {
			endJob(job, reasonDeliveries)
			return outcome("dead_lettered", reasonDeliveries)
		}
		releaseJob(job, now)
	default:
		until := now.Add(s.cleanupLease)
		job.FreeAt = new(until.UnixMicro())
		return &orchv1.SettleCleanupJobResponse{Status: "accepted", LeaseExpiresAt: timestamppb.New(until)}
	}
	return outcome("accepted", "")
}

// releaseJob ends a reservation.
func releaseJob(job *orchv1.CleanupJob, now time.Time) {
	job.Token, job.Consumer, job.FreeAt = nil, nil, new(now.UnixMicro())
}

func outcome(status, reason string) *orchv1.SettleCleanupJobResponse {
	return &orchv1.SettleCleanupJobResponse{Status: status, Reason: reason}
}
