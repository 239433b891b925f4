package concurrency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func tagNames(tags []string) []string {
	names := make([]string, len(tags))
	for i, tag := range tags {
		names[i] = tagPrefix + tag
	}
	return names
}

// TaskRunSlots asks for a slot of each of these tags for a task run, until it gives them back.
func (l *Limits) TaskRunSlots(tags []string, run uuid.UUID) Acquisition {
	return Acquisition{Names: tagNames(tags), Slots: 1, Lease: &Lease{
		ID: l.limits.Store().NewID(), Holder: &orchv1.ConcurrencyLeaseHolder{Type: taskRun, Id: run.String()},
	}}
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
	limits, err := s.find(ctx, info.Workspace, named(tagNames(i.GetNames())))
	if err != nil {
		return nil, err
	}
	var open []*orchv1.ConcurrencyLimitV2
	for _, limit := range limits {
		switch {
		case !limit.GetActive():
		case limit.GetLimit() == 0:
			tag := strings.TrimPrefix(limit.GetName(), tagPrefix)
			return nil, locked(&FullError{Wait: seconds(maxWait)},
				fmt.Sprintf("The concurrency limit of the tag %q is 0: a task run that waits for a slot of it will deadlock", tag))
		case holds(limit, byHolder(taskRun, run)):
			// It asks again because it never read the answer.
		default:
			open = append(open, limit)
		}
	}
	if len(open) > 0 {
		_, err = s.acquire(ctx, info.Workspace, open, s.TaskRunSlots(nil, run))
	}
	if full, ok := errors.AsType[*FullError](err); ok {
		return nil, locked(full, "Concurrency limit reached")
	}
	if err != nil {
		return nil, translate(err)
	}
	return &orchv1.MinimalConcurrencyLimitList{Limits: minimal(limits)}, nil
}

func holds(limit *orchv1.ConcurrencyLimitV2, chosen func(*orchv1.ConcurrencySlotHolder) bool) bool {
	return slices.ContainsFunc(limit.GetHolders(), chosen)
}

// DecrementConcurrencyLimits gives the slots of a task run back.
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
	return &orchv1.MinimalConcurrencyLimitList{Limits: minimal(limits)}, nil
}

// ResetConcurrencyLimitByTag says which task runs hold the slots of a tag.
func (s *Service) ResetConcurrencyLimitByTag(ctx context.Context, r *orchv1.ResetConcurrencyLimitByTagRequest) (*emptypb.Empty, error) {
	ws, limit, err := s.byTag(ctx, r.GetTag())
	if err != nil {
		return nil, err
	}
	runs := r.GetOverride().GetSlotOverride().GetValues()
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
