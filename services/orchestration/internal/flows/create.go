package flows

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CreateFlow stores a flow, or returns the existing flow of that name: 201 or 200.
func (s *Service) CreateFlow(ctx context.Context, r *orchv1.CreateFlowRequest) (*orchv1.Flow, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	// A concurrent call may delete the flow of that name between the failed insert and the read.
	for range 3 {
		// Most flows exist already, and a read costs less than a rejected write.
		flow, err := s.byName(ctx, info.Workspace, r.GetFlow().GetName())
		if err == nil {
			return flow, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if flow, err = s.newFlow(s.flows.Store().NewID(), r.GetFlow()); err != nil {
			return nil, err
		}
		err = s.insert(ctx, info.Workspace, flow)
		if err == nil {
			return flow, rpc.SetStatus(ctx, http.StatusCreated)
		}
		if !errors.Is(err, store.ErrDuplicate) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("create the flow: %w", store.ErrContention)
}

// insert stores a flow and publishes its creation.
func (s *Service) insert(ctx context.Context, ws uuid.UUID, flow *orchv1.Flow) error {
	created, err := s.lifecycle.Created(ctx, ws, flow)
	if err != nil {
		return err
	}
	return s.flows.Insert(ctx, ws, flow, created...)
}

// newFlow builds a flow from a request. Runs inherit the labels of their flow, so a label that no run may have is refused.
func (s *Service) newFlow(id uuid.UUID, create *orchv1.FlowCreate) (*orchv1.Flow, error) {
	if err := s.order.Check(create.GetLabels().GetValues(), nil); err != nil {
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, "+err.Error(), "labels"))
	}
	flow := &orchv1.Flow{Id: id.String(), Name: create.GetName(), Tags: create.GetTags(), Labels: create.GetLabels()}
	if flow.Labels == nil {
		flow.Labels = &orchv1.Labels{}
	}
	return flow, nil
}

func (s *Service) byName(ctx context.Context, ws uuid.UUID, name string) (*orchv1.Flow, error) {
	return s.flows.First(ctx, ws, bson.D{{Key: "name", Value: name}})
}

// ReadFlowByName returns a flow by its name.
func (s *Service) ReadFlowByName(ctx context.Context, r *orchv1.ReadFlowByNameRequest) (*orchv1.Flow, error) {
	return crud.ByKey(ctx, notFound, r.GetName(), s.byName)
}
