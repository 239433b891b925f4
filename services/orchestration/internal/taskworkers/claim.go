package taskworkers

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// candidates is the number of waiting runs that a claim tries: other workers may claim the first ones concurrently.
const candidates = 8

// ClaimTaskRun claims the longest-waiting run for a worker, for the duration of a claim. The response is empty if no
// run waits. A call also counts as the worker's heartbeat.
func (s *Service) ClaimTaskRun(ctx context.Context, r *orchv1.ClaimTaskRunRequest) (*orchv1.ClaimTaskRunResponse, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.see(ctx, info.Workspace, r.GetIdentifier(), r.GetTaskKeys()); err != nil {
		return nil, err
	}
	filter, sort := waiting(r.GetTaskKeys(), s.runs.Store().Now().UnixMicro())
	found, err := s.runs.Find(ctx, info.Workspace, store.Query{Filter: filter, Sort: sort, Limit: candidates})
	if err != nil {
		return nil, err
	}
	for _, candidate := range found {
		claim := s.runs.Store().NewID().String()
		run, err := s.claim(ctx, info.Workspace, candidate.GetId(), claim)
		if err != nil {
			return nil, err
		}
		if run != nil {
			return &orchv1.ClaimTaskRunResponse{TaskRun: s.deps.Show(run), Claim: claim}, nil
		}
	}
	return &orchv1.ClaimTaskRunResponse{}, nil
}

// claim claims a run. It returns nil when another worker was faster, or the run no longer waits.
func (s *Service) claim(ctx context.Context, ws uuid.UUID, id, claim string) (*orchv1.TaskRun, error) {
	return s.mutate(ctx, ws, id, func(run *orchv1.TaskRun) bool {
		now := s.runs.Store().Now()
		if run.OfferAt == nil || run.GetOfferAt().AsTime().After(now) ||
			run.GetState().GetType() != orchv1.StateType_STATE_TYPE_SCHEDULED {
			return false
		}
		run.OfferAt, run.Claim = timestamppb.New(now.Add(feeds.TaskClaim)), &claim
		return true
	})
}

// SettleTaskRun ends a claim. It ignores a claim that has already ended.
func (s *Service) SettleTaskRun(ctx context.Context, r *orchv1.SettleTaskRunRequest) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	run, err := s.mutate(ctx, info.Workspace, r.GetId(), func(run *orchv1.TaskRun) bool {
		if run.GetClaim() != r.GetClaim() {
			return false
		}
		run.OfferAt, run.Claim = nil, nil
		if !r.GetTaken() {
			run.OfferAt = timestamppb.New(s.runs.Store().Now())
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if run != nil && !r.GetTaken() {
		s.deps.Offered(info.Workspace, run.GetTaskKey())
	}
	return &emptypb.Empty{}, nil
}

// mutate changes a run if decide returns true. It returns nil without a change, or when the run is deleted.
func (s *Service) mutate(ctx context.Context, ws uuid.UUID, id string, decide func(*orchv1.TaskRun) bool) (*orchv1.TaskRun, error) {
	parsed, err := resourceid.Parse(id)
	if err != nil {
		return nil, err
	}
	changed := false
	run, err := s.runs.Mutate(ctx, ws, parsed, func(current *orchv1.TaskRun, _ int64) (*store.Change[*orchv1.TaskRun], error) {
		next := proto.CloneOf(current)
		if changed = decide(next); !changed {
			return nil, nil
		}
		return change(next), nil
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && !changed {
		return nil, nil
	}
	return run, err
}
