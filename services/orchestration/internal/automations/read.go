package automations

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadAutomation answers an automation.
func (s *Service) ReadAutomation(ctx context.Context, r *orchv1.ReadAutomationRequest) (*orchv1.Automation, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	automation, err := s.automations.Get(ctx, ws, id)
	return automation, translate(err)
}

// ReadAutomations answers the automations that match.
func (s *Service) ReadAutomations(ctx context.Context, r *orchv1.ReadAutomationsRequest) (*orchv1.AutomationList, error) {
	q := r.GetQuery()
	found, err := s.source.List(ctx, q, q.GetSort(), q)
	return &orchv1.AutomationList{Automations: found}, err
}

// CountAutomations counts the automations that match.
func (s *Service) CountAutomations(ctx context.Context, r *orchv1.CountAutomationsRequest) (*orchv1.CountResponse, error) {
	return s.source.Count(ctx, r.GetQuery())
}

// ReadAutomationsRelatedToResource answers the automations that belong to a resource or run it, ordered by name.
func (s *Service) ReadAutomationsRelatedToResource(
	ctx context.Context, r *orchv1.ReadAutomationsRelatedToResourceRequest,
) (*orchv1.AutomationList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.automations.Find(ctx, info.Workspace, store.Query{Filter: bson.D{{Key: "related_resources", Value: r.GetResourceId()}}, Sort: bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}})
	return &orchv1.AutomationList{Automations: found}, err
}
