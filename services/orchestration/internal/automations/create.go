package automations

import (
	"context"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// CreateAutomation stores an automation.
func (s *Service) CreateAutomation(ctx context.Context, r *orchv1.CreateAutomationRequest) (*orchv1.Automation, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	create := r.GetAutomation()
	automation := &orchv1.Automation{
		Id: s.automations.Store().NewID().String(), Name: create.GetName(), Description: create.GetDescription(), Enabled: create.GetEnabled(),
		Tags: create.GetTags(), Trigger: create.GetTrigger(), Actions: create.GetActions(), ActionsOnTrigger: create.GetActionsOnTrigger(),
		ActionsOnResolve: create.GetActionsOnResolve(), OwnerResource: create.OwnerResource,
	}
	if err := s.Prepare(automation); err != nil {
		return nil, err
	}
	created, err := s.lifecycle(info.Workspace, automation, nil, "created")
	if err != nil {
		return nil, err
	}
	return automation, s.automations.Insert(ctx, info.Workspace, automation, created)
}
