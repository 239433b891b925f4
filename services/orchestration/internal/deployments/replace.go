package deployments

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReplaceDeployment overwrites the deployment with that id (200), or creates it (201). It rejects a name that another
// deployment of the flow has. Server-managed fields stay.
func (s *Service) ReplaceDeployment(ctx context.Context, r *orchv1.ReplaceDeploymentRequest) (*orchv1.Deployment, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	asked, err := s.prepare(ctx, ws, r.GetDeployment(), allFields)
	if err != nil {
		return nil, err
	}
	d, err := s.change(ctx, ws, id, flowruns.AutoFuture, func(d *orchv1.Deployment) error {
		next := newDeployment(id)
		next.ScheduleGeneration = d.ScheduleGeneration
		next.Created, next.Updated, next.Status, next.LastPolled = d.Created, d.Updated, d.Status, d.LastPolled
		next.CreatedBy, next.UpdatedBy = d.CreatedBy, d.UpdatedBy
		proto.Reset(d)
		proto.Merge(d, next)
		return asked.apply(d)
	})
	if errors.Is(err, store.ErrNotFound) {
		// A concurrent call may create it between the read and the insert; then this call is a conflict.
		if d, err = s.insert(ctx, ws, id, asked); err != nil {
			return nil, err
		}
		if err := rpc.SetStatus(ctx, http.StatusCreated); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	return s.present(ctx, ws, d)
}
