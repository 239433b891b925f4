package automations

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteAutomation deletes an automation.
func (s *Service) DeleteAutomation(ctx context.Context, r *orchv1.DeleteAutomationRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if err := s.delete(ctx, ws, id); err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

// DeleteAutomationsOwnedByResource deletes the automations of a resource that were there when it was asked. There may be
// none: clients say this before each deployment.
func (s *Service) DeleteAutomationsOwnedByResource(
	ctx context.Context, r *orchv1.DeleteAutomationsOwnedByResourceRequest,
) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	owned := bson.D{
		{Key: "owner_resource", Value: r.GetResourceId()},
		{Key: "created", Value: bson.D{{Key: "$lte", Value: s.automations.Store().Now().UnixMicro()}}},
	}
	err = store.Drain(ctx, s.automations, info.Workspace, owned, func(id uuid.UUID) error { return s.delete(ctx, info.Workspace, id) })
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

func (s *Service) delete(ctx context.Context, ws, id uuid.UUID) error {
	err := s.automations.Delete(ctx, ws, id, func(current *orchv1.Automation) ([]store.Effect, error) {
		deleted, err := s.lifecycle(ws, current, nil, "deleted")
		return []store.Effect{deleted}, err
	})
	if err != nil {
		return err
	}
	s.published(ctx, ws, id.String())
	return nil
}
