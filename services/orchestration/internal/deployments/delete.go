package deployments

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// kindDeleteOfFlow is the kind of the effect that deletes the deployments of a deleted flow.
const kindDeleteOfFlow = "deployments_delete"

// DeleteDeployment deletes a deployment and its runs that have not begun. The other runs keep its id.
func (s *Service) DeleteDeployment(ctx context.Context, r *orchv1.DeleteDeploymentRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if err := s.delete(ctx, ws, id); err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

// bulkDelete is the default limit of one bulk deletion.
const bulkDelete = 50

// BulkDeleteDeployments deletes the matching deployments, in the order of their names.
func (s *Service) BulkDeleteDeployments(ctx context.Context, r *orchv1.BulkDeleteDeploymentsRequest) (*orchv1.DeploymentBulkDeleteResponse, error) {
	limit := r.GetQuery().GetLimit()
	if limit == 0 {
		limit = bulkDelete
	}
	response := &orchv1.DeploymentBulkDeleteResponse{}
	err := s.source.Each(ctx, r.GetQuery(), limit, func(ws, id uuid.UUID) error {
		err := s.delete(ctx, ws, id)
		if err == nil {
			response.Deleted = append(response.Deleted, id.String())
		}
		return err
	})
	return response, err
}

func (s *Service) delete(ctx context.Context, ws, id uuid.UUID) error {
	err := s.deployments.Delete(ctx, ws, id, func(current *orchv1.Deployment) ([]store.Effect, error) {
		deleted, err := s.lifecycle(ws, current, "deleted", nil)
		if err != nil {
			return nil, err
		}
		obsolete := flowruns.DeleteUnstarted(s.deployments.Store(), ws, id, flowruns.AnyScheduled, 0)
		return append([]store.Effect{deleted, obsolete}, s.limitEffects(ws, id, current.ConcurrencySlots, nil)...), nil
	})
	if err != nil {
		return err
	}
	s.flush.Flush(ctx, query.Deployment, ws, id)
	return nil
}

// DeleteOfFlow is the effect that deletes the deployments of a flow.
func DeleteOfFlow(db *store.Store, ws, flow uuid.UUID) store.Effect {
	return db.ResourceEffect(kindDeleteOfFlow, ws, flow)
}

// Handlers returns the effect handlers of this package.
func (s *Service) Handlers() []outbox.Handler {
	return []outbox.Handler{{Kind: kindDeleteOfFlow, Run: s.DeleteDeployments}}
}

// DeleteDeployments deletes the deployments of deleted flows.
func (s *Service) DeleteDeployments(ctx context.Context, effects []store.Effect) error {
	return store.DrainDependents(ctx, s.deployments, effects, "flow_id", func(ws, id uuid.UUID) error { return s.delete(ctx, ws, id) })
}
