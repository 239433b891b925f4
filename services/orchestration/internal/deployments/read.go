package deployments

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadDeployment returns a deployment by its id.
func (s *Service) ReadDeployment(ctx context.Context, r *orchv1.ReadDeploymentRequest) (*orchv1.Deployment, error) {
	ws, d, err := s.read(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	return s.present(ctx, ws, d)
}

// read returns the deployment of a call in its workspace.
func (s *Service) read(ctx context.Context, id string) (ws uuid.UUID, d *orchv1.Deployment, err error) {
	ws, parsed, err := resourceid.FromRequest(ctx, id)
	if err == nil {
		d, err = s.deployments.Get(ctx, ws, parsed)
	}
	return ws, d, translate(err)
}

// WorkQueueCheckForDeployment returns the work queues that select the runs of a deployment by tags. A deployment names
// its queue and no queue selects by tags, so the list is empty.
func (s *Service) WorkQueueCheckForDeployment(
	ctx context.Context, r *orchv1.WorkQueueCheckForDeploymentRequest,
) (*orchv1.WorkQueueCheckList, error) {
	if _, _, err := s.read(ctx, r.GetId()); err != nil {
		return nil, err
	}
	return &orchv1.WorkQueueCheckList{}, nil
}

// ReadDeploymentByName returns a deployment by its flow's name and its own.
func (s *Service) ReadDeploymentByName(ctx context.Context, r *orchv1.ReadDeploymentByNameRequest) (*orchv1.Deployment, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	flow, err := s.flows.First(ctx, info.Workspace, bson.D{{Key: "name", Value: r.GetFlowName()}})
	if err != nil {
		return nil, translate(err)
	}
	flowID, err := resourceid.Parse(flow.GetId())
	if err != nil {
		return nil, err
	}
	d, err := s.byName(ctx, info.Workspace, flowID, r.GetDeploymentName())
	if err != nil {
		return nil, translate(err)
	}
	return s.present(ctx, info.Workspace, d)
}

func (s *Service) byName(ctx context.Context, ws, flow uuid.UUID, name string) (*orchv1.Deployment, error) {
	return s.deployments.First(ctx, ws, bson.D{{Key: "flow_id", Value: store.Binary(flow)}, {Key: "name", Value: name}})
}

// ListDeployments returns a page of all deployments.
func (s *Service) ListDeployments(ctx context.Context, r *orchv1.ListDeploymentsRequest) (*orchv1.DeploymentList, error) {
	return s.list(ctx, nil, nil, r)
}

// ReadDeployments returns the deployments that match the filters on themselves and on their related resources.
func (s *Service) ReadDeployments(ctx context.Context, r *orchv1.ReadDeploymentsRequest) (*orchv1.DeploymentList, error) {
	q := r.GetQuery()
	return s.list(ctx, q, q.GetSort(), q)
}

func (s *Service) list(ctx context.Context, q proto.Message, order protoreflect.Enum, page pagination.Query) (*orchv1.DeploymentList, error) {
	found, err := s.source.List(ctx, q, order, page)
	if err != nil {
		return nil, err
	}
	return &orchv1.DeploymentList{Deployments: found}, s.presentAll(ctx, found)
}

// CountDeployments counts the matching deployments.
func (s *Service) CountDeployments(ctx context.Context, r *orchv1.CountDeploymentsRequest) (*orchv1.CountResponse, error) {
	return s.source.Count(ctx, r.GetQuery())
}

// PaginateDeployments returns one page of the matching deployments and their total count.
func (s *Service) PaginateDeployments(ctx context.Context, r *orchv1.PaginateDeploymentsRequest) (*orchv1.DeploymentPage, error) {
	q := r.GetQuery()
	p, err := s.source.Paginate(ctx, q, q.GetSort())
	if err != nil {
		return nil, err
	}
	answer := &orchv1.DeploymentPage{Results: p.Results, Count: p.Count, Limit: p.Limit, Pages: p.Pages, Page: p.Page}
	return answer, s.presentAll(ctx, p.Results)
}

// presentAll sets the computed fields of deployments.
func (s *Service) presentAll(ctx context.Context, found []*orchv1.Deployment) error {
	info, err := request.Incoming(ctx)
	if err != nil {
		return err
	}
	for _, d := range found {
		if _, err := s.present(ctx, info.Workspace, d); err != nil {
			return err
		}
	}
	return nil
}
