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

// ReplaceDeployment makes a deployment of that id what was asked for, or creates it: 200 or 201. A name that another
// deployment of the flow has is refused. What the server itself knows of the deployment stays.
func (s *Service) ReplaceDeployment(ctx context.Context, r *orchv1.ReplaceDeploymentRequest) (*orchv1.Deployment, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	asked, err := s.prepare(ctx, ws, r.GetDeployment(), everything)
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
		// Another call may create it between the look and the insert; then that one wins, and this one is a conflict.
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
