package automations

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// CreateAutomation stores an automation.
func (s *Service) CreateAutomation(ctx context.Context, r *orchv1.CreateAutomationRequest) (*orchv1.Automation, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	automation := s.created(r.GetAutomation())
	if err := s.prepare(ctx, automation); err != nil {
		return nil, err
	}
	if err := s.checkTotal(ctx, info.Workspace, proto.Size(automation)); err != nil {
		return nil, err
	}
	created, err := s.lifecycle(info.Workspace, automation, nil, "created")
	if err != nil {
		return nil, err
	}
	end, err := s.quotas.Begin(ctx, info.Account, quota.Automations)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := s.automations.Insert(ctx, info.Workspace, automation, created); err != nil {
		return nil, err
	}
	s.published(ctx, info.Workspace, automation.GetId())
	return automation, nil
}

// created returns the automation of a request, with a new id.
func (s *Service) created(create *orchv1.AutomationCreate) *orchv1.Automation {
	return &orchv1.Automation{
		Id: s.automations.Store().NewID().String(), Name: create.GetName(), Description: create.GetDescription(), Enabled: create.GetEnabled(),
		Tags: create.GetTags(), Trigger: create.GetTrigger(), Actions: create.GetActions(), ActionsOnTrigger: create.GetActionsOnTrigger(),
		ActionsOnResolve: create.GetActionsOnResolve(), OwnerResource: create.OwnerResource,
	}
}

// prepare is Prepare within the bounds of the process: templates and triggers of a large automation take long.
func (s *Service) prepare(ctx context.Context, automation *orchv1.Automation) error {
	memory, err := s.admission.Compute(ctx, proto.Size(automation))
	if err != nil {
		return fmt.Errorf("check automation: %w", err)
	}
	defer memory.Close()
	return s.Prepare(automation)
}

// published waits until the change of an automation is in the stream of events.
func (s *Service) published(ctx context.Context, ws uuid.UUID, automation string) {
	if id, err := uuid.Parse(automation); err == nil {
		s.flush.Flush(ctx, query.Automation, ws, id)
	}
}
