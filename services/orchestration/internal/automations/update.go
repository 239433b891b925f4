package automations

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateAutomation replaces the parts of an automation that were sent: name, trigger and actions always are. Its triggers
// get new ids, so what they had counted is forgotten.
func (s *Service) UpdateAutomation(ctx context.Context, r *orchv1.UpdateAutomationRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	sent := r.GetUpdateMask().GetPaths()
	found := &fieldErrors{}
	for _, name := range []string{"name", "trigger", "actions"} {
		if !slices.Contains(sent, name) {
			found.list = append(found.list, rpc.BodyError("missing", "Field required", name))
		}
	}
	if len(found.list) > 0 {
		return nil, rpc.Invalid(found.list...)
	}
	return s.change(ctx, ws, id, func(next *orchv1.Automation) error {
		before := proto.Size(next)
		u := proto.CloneOf(r.GetAutomation())
		next.Name, next.Trigger, next.Actions = u.GetName(), u.GetTrigger(), u.GetActions()
		for name, take := range map[string]func(){
			"description":        func() { next.Description = u.GetDescription() },
			"enabled":            func() { next.Enabled = u.GetEnabled() },
			"tags":               func() { next.Tags = u.GetTags() },
			"actions_on_trigger": func() { next.ActionsOnTrigger = u.GetActionsOnTrigger() },
			"actions_on_resolve": func() { next.ActionsOnResolve = u.GetActionsOnResolve() },
		} {
			if slices.Contains(sent, name) {
				take()
			}
		}
		if err := s.prepare(ctx, next); err != nil {
			return err
		}
		return s.checkTotal(ctx, ws, proto.Size(next)-before)
	})
}

// PatchAutomation switches an automation on or off. An automation that may not be enabled is refused.
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
	s.published(ctx, ws, id.String())
	return &emptypb.Empty{}, nil
}
