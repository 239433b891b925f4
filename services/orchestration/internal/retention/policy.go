package retention

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadRetentionPolicy returns the policy of the workspace.
func (s *Service) ReadRetentionPolicy(ctx context.Context, _ *emptypb.Empty) (*orchv1.RetentionPolicy, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	return s.policy(ctx, info.Workspace)
}

// policy returns the policy of a workspace, without rules if it was never set.
func (s *Service) policy(ctx context.Context, ws uuid.UUID) (*orchv1.RetentionPolicy, error) {
	policy, err := s.policies.Get(ctx, ws, policyID(ws))
	if errors.Is(err, store.ErrNotFound) {
		return &orchv1.RetentionPolicy{Id: policyID(ws).String()}, nil
	}
	return policy, err
}

// ReplaceRetentionPolicy replaces the rules of the workspace.
func (s *Service) ReplaceRetentionPolicy(ctx context.Context, r *orchv1.ReplaceRetentionPolicyRequest) (*orchv1.RetentionPolicy, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	if err := check(r.GetPolicy().GetRules()); err != nil {
		return nil, err
	}
	policy, err := s.replace(ctx, info.Workspace, r.GetPolicy().GetRules())
	if err != nil {
		return nil, err
	}
	s.flush.Flush(ctx, query.RetentionPolicy, info.Workspace, policyID(info.Workspace))
	return policy, nil
}

// replace changes or creates the one document. It is never deleted, because its id is derived.
func (s *Service) replace(ctx context.Context, ws uuid.UUID, list []*orchv1.RetentionRule) (*orchv1.RetentionPolicy, error) {
	id := policyID(ws)
	edit := store.Edit(func(next *orchv1.RetentionPolicy) error {
		next.Rules = list
		return nil
	}, s.lifecycle.Updated(ctx, ws))
	for range 2 { // A concurrent call may create it between the change and the insert.
		policy, err := s.policies.Mutate(ctx, ws, id, edit)
		if !errors.Is(err, store.ErrNotFound) {
			return policy, err
		}
		policy = &orchv1.RetentionPolicy{Id: id.String(), Rules: list}
		created, err := s.lifecycle.Created(ctx, ws, policy)
		if err != nil {
			return nil, err
		}
		err = s.policies.Insert(ctx, ws, policy, created...)
		if !errors.Is(err, store.ErrDuplicate) {
			return policy, err
		}
	}
	return nil, fmt.Errorf("replace retention policy: %w", store.ErrContention)
}
