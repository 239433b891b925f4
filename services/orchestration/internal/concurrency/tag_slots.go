package concurrency

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func tagNames(tags []string) []string {
	names := make([]string, len(tags))
	for i, tag := range tags {
		names[i] = tagPrefix + tag
	}
	return names
}

// NeverError means that the limit of a tag is 0, so no slot ever becomes free. Nothing was taken.
type NeverError struct{ Tag string }

func (e *NeverError) Error() string {
	return fmt.Sprintf("the concurrency limit of the tag %q is 0", e.Tag)
}

// AcquireForTaskRun takes a slot of every tag with a limit for a task run, except those that it already holds, or takes
// none. It returns the limits and the lease, which is the nil UUID when nothing was taken. It returns a *FullError when
// one is full, a *NeverError when one is 0. The lease expires after the duration unless the slots are kept; with 0 the
// run holds them until it releases them. The grain rounds up the time to wait of a *FullError.
func (l *Limits) AcquireForTaskRun(
	ctx context.Context, ws uuid.UUID, tags []string, run uuid.UUID, duration, grain time.Duration,
) ([]*orchv1.ConcurrencyLimitV2, uuid.UUID, error) {
	limits, err := l.find(ctx, ws, named(tagNames(tags)))
	if err != nil {
		return nil, uuid.Nil, err
	}
	var open []*orchv1.ConcurrencyLimitV2
	for _, limit := range limits {
		switch {
		case !limit.GetActive():
		case limit.GetLimit() == 0:
			return nil, uuid.Nil, &NeverError{strings.TrimPrefix(limit.GetName(), tagPrefix)}
		default:
			open = append(open, limit)
		}
	}
	if len(open) == 0 {
		return limits, uuid.Nil, nil
	}
	lease := &Lease{ID: l.limits.Store().NewID(), Duration: duration, Holder: taskRunHolder(run)}
	if err := l.acquire(ctx, ws, open, Acquisition{Slots: 1, Lease: lease, Once: true, Grain: grain}); err != nil {
		return nil, uuid.Nil, err
	}
	return limits, lease.ID, nil
}

func taskRunHolder(run uuid.UUID) *orchv1.ConcurrencyLeaseHolder {
	return &orchv1.ConcurrencyLeaseHolder{Type: taskRun, Id: run.String()}
}

// WithdrawTaskRun ends the reservations of a task run that no longer waits for slots of these tags.
func (l *Limits) WithdrawTaskRun(ctx context.Context, ws uuid.UUID, tags []string, run uuid.UUID) error {
	limits, err := l.find(ctx, ws, named(tagNames(tags)))
	if err != nil {
		return err
	}
	return l.Withdraw(ctx, ws, limits, taskRunHolder(run))
}

// HeldByTaskRun returns the leases under which a task run holds slots of these tags until their release.
func (l *Limits) HeldByTaskRun(ctx context.Context, ws uuid.UUID, tags []string, run uuid.UUID) ([]string, error) {
	limits, err := l.limits.Find(ctx, ws, store.Query{Filter: named(tagNames(tags)), Sort: byName})
	if err != nil {
		return nil, err
	}
	mine := lasting(taskRun, run)
	var leases []string
	for _, limit := range limits {
		for _, h := range limit.GetHolders() {
			if mine(h) && !slices.Contains(leases, h.GetLeaseId()) {
				leases = append(leases, h.GetLeaseId())
			}
		}
	}
	return leases, nil
}

// lasting matches the slots of a holder without expiry.
func lasting(kind orchv1.ConcurrencyHolderType, id uuid.UUID) func(*orchv1.ConcurrencySlotHolder) bool {
	mine := byHolder(kind, id)
	return func(h *orchv1.ConcurrencySlotHolder) bool { return h.Expires == nil && mine(h) }
}

// IncrementConcurrencyLimits takes a slot of every tag for a task run.
func (s *Service) IncrementConcurrencyLimits(ctx context.Context, r *orchv1.IncrementConcurrencyLimitsRequest) (*orchv1.MinimalConcurrencyLimitList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	i := r.GetIncrement()
	run, err := uuid.Parse(i.GetTaskRunId())
	if err != nil {
		return nil, fmt.Errorf("read the id of a task run: %w", err)
	}
	limits, _, err := s.AcquireForTaskRun(ctx, info.Workspace, i.GetNames(), run, 0, 0)
	if never, ok := errors.AsType[*NeverError](err); ok {
		// Clients retry after a Retry-After; here they would retry forever.
		return nil, rpc.Detail(http.StatusLocked,
			fmt.Sprintf("The concurrency limit on tag %q is 0 and will deadlock if the task tries to run again.", never.Tag))
	}
	if full, ok := errors.AsType[*FullError](err); ok {
		return nil, locked(full, fmt.Sprintf("Concurrency limit for the %s tag has been reached", strings.TrimPrefix(full.Name, tagPrefix)))
	}
	if err != nil {
		return nil, translate(err)
	}
	return &orchv1.MinimalConcurrencyLimitList{Limits: minimal(limits, tagPrefix)}, nil
}

func holdsAny(limit *orchv1.ConcurrencyLimitV2, chosen func(*orchv1.ConcurrencySlotHolder) bool) bool {
	return slices.ContainsFunc(limit.GetHolders(), chosen)
}

// DecrementConcurrencyLimits releases the slots of a task run.
func (s *Service) DecrementConcurrencyLimits(ctx context.Context, r *orchv1.DecrementConcurrencyLimitsRequest) (*orchv1.MinimalConcurrencyLimitList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	d := r.GetDecrement()
	run, err := uuid.Parse(d.GetTaskRunId())
	if err != nil {
		return nil, fmt.Errorf("read the id of a task run: %w", err)
	}
	limits, err := s.ReleaseHolder(ctx, info.Workspace, tagNames(d.GetNames()), taskRun, run)
	if err != nil {
		return nil, err
	}
	return &orchv1.MinimalConcurrencyLimitList{Limits: minimal(limits, "")}, nil
}

// ResetConcurrencyLimitByTag sets which task runs hold the slots of a tag.
func (s *Service) ResetConcurrencyLimitByTag(ctx context.Context, r *orchv1.ResetConcurrencyLimitByTagRequest) (*emptypb.Empty, error) {
	ws, limit, err := s.byTag(ctx, r.GetTag())
	if err != nil {
		return nil, err
	}
	runs := r.GetOverride().GetSlotOverride().GetValues()
	if len(runs) > MaxHolders {
		return nil, rpc.Detail(http.StatusUnprocessableEntity, fmt.Sprintf("%d task runs exceed the maximum of %d holders", len(runs), MaxHolders))
	}
	_, err = s.mutate(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
		now := s.limits.Store().Now()
		limit.Holders = nil
		for _, run := range runs {
			lease := &Lease{ID: s.limits.Store().NewID(), Holder: &orchv1.ConcurrencyLeaseHolder{Type: taskRun, Id: run}}
			limit.Holders = append(limit.Holders, lease.holding(1, now))
		}
		setActive(limit, int64(len(runs)), now)
		return true, nil
	})
	return &emptypb.Empty{}, unknownTag(err)
}
