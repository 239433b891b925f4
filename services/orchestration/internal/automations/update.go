package automations

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateAutomation replaces an automation; whose it is stays.
func (s *Service) UpdateAutomation(ctx context.Context, r *orchv1.UpdateAutomationRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	return s.change(ctx, ws, id, func(next *orchv1.Automation) error {
		u := proto.CloneOf(r.GetAutomation())
		next.Name, next.Description, next.Enabled, next.Tags = u.GetName(), u.GetDescription(), u.GetEnabled(), u.GetTags()
		next.Trigger, next.Actions = u.GetTrigger(), u.GetActions()
		next.ActionsOnTrigger, next.ActionsOnResolve = u.GetActionsOnTrigger(), u.GetActionsOnResolve()
		return s.Prepare(next)
	})
}

// PatchAutomation switches an automation on or off. One that may not be on is refused.
func (s *Service) PatchAutomation(ctx context.Context, r *orchv1.PatchAutomationRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	return s.change(ctx, ws, id, func(next *orchv1.Automation) error {
		if !slices.Contains(r.GetUpdateMask().GetPaths(), "enabled") || next.GetEnabled() == r.GetAutomation().GetEnabled() {
			return nil
		}
		next.Enabled = r.GetAutomation().GetEnabled()
		return s.checkSwitch(next)
	})
}

// change writes what edit makes of an automation, unless that is nothing.
func (s *Service) change(ctx context.Context, ws, id uuid.UUID, edit func(next *orchv1.Automation) error) (*emptypb.Empty, error) {
	_, err := s.automations.Mutate(ctx, ws, id, store.Edit(edit, func(before, next *orchv1.Automation) ([]store.Effect, error) {
		updated, err := s.lifecycle(ws, next, before, "updated")
		return []store.Effect{updated}, err
	}))
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}
