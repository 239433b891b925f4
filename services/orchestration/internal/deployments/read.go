package deployments

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/page"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadDeployment answers a deployment by its id.
func (s *Service) ReadDeployment(ctx context.Context, r *orchv1.ReadDeploymentRequest) (*orchv1.Deployment, error) {
	ws, id, err := call.Locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	d, err := s.deployments.Get(ctx, ws, id)
	if err != nil {
		return nil, translate(err)
	}
	return s.present(ctx, ws, d)
}

// ReadDeploymentByName answers a deployment by the name of its flow and its own.
func (s *Service) ReadDeploymentByName(ctx context.Context, r *orchv1.ReadDeploymentByNameRequest) (*orchv1.Deployment, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	flow, err := s.flows.First(ctx, info.Workspace, bson.D{{Key: "name", Value: r.GetFlowName()}})
	if err != nil {
		return nil, translate(err)
	}
	flowID, err := call.ParseID(flow.GetId())
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

// ListDeployments answers a page of all deployments.
func (s *Service) ListDeployments(ctx context.Context, r *orchv1.ListDeploymentsRequest) (*orchv1.DeploymentList, error) {
	return s.list(ctx, nil, orchv1.DeploymentSort_DEPLOYMENT_SORT_UNSPECIFIED, r.GetOffset(), r.GetLimit())
}

// ReadDeployments answers the deployments that match, by their own fields and by those of what belongs to them.
func (s *Service) ReadDeployments(ctx context.Context, r *orchv1.ReadDeploymentsRequest) (*orchv1.DeploymentList, error) {
	q := r.GetQuery()
	return s.list(ctx, q, q.GetSort(), q.GetOffset(), q.GetLimit())
}

func (s *Service) list(ctx context.Context, q proto.Message, order orchv1.DeploymentSort, offset int64, size *orchv1.PageLimit) (*orchv1.DeploymentList, error) {
	limit, err := page.Limit(size)
	if err != nil {
		return nil, err
	}
	ws, selection, err := s.selection(ctx, q)
	if err != nil {
		return nil, err
	}
	found, err := s.page(ctx, ws, selection, order, offset, limit)
	return &orchv1.DeploymentList{Deployments: found}, err
}

// CountDeployments counts the deployments that match.
func (s *Service) CountDeployments(ctx context.Context, r *orchv1.CountDeploymentsRequest) (*orchv1.CountResponse, error) {
	_, selection, err := s.selection(ctx, r.GetQuery())
	if err != nil {
		return nil, err
	}
	n, err := selection.Count(ctx)
	return &orchv1.CountResponse{Count: n}, err
}

// PaginateDeployments answers one page of the deployments that match, and how many there are.
func (s *Service) PaginateDeployments(ctx context.Context, r *orchv1.PaginateDeploymentsRequest) (*orchv1.DeploymentPage, error) {
	q := r.GetQuery()
	limit, err := page.Limit(q.GetLimit())
	if err != nil {
		return nil, err
	}
	ws, selection, err := s.selection(ctx, q)
	if err != nil {
		return nil, err
	}
	count, err := selection.Count(ctx)
	if err != nil {
		return nil, err
	}
	number := max(q.GetPage(), 1)
	found, err := s.page(ctx, ws, selection, q.GetSort(), page.Offset(number, limit), limit)
	return &orchv1.DeploymentPage{Results: found, Count: count, Limit: limit, Pages: page.Pages(count, limit), Page: number}, err
}

// page reads deployments. Without a sort, they are ordered by name.
func (s *Service) page(ctx context.Context, ws uuid.UUID, of *query.Selection, order orchv1.DeploymentSort, offset, limit int64) ([]*orchv1.Deployment, error) {
	if limit == 0 {
		return nil, nil
	}
	if order == orchv1.DeploymentSort_DEPLOYMENT_SORT_UNSPECIFIED {
		order = orchv1.DeploymentSort_DEPLOYMENT_SORT_NAME_ASC
	}
	sort, err := query.Sort(order)
	if err != nil {
		return nil, err
	}
	raws, err := of.Page(ctx, sort, offset, limit)
	if err != nil {
		return nil, err
	}
	found := make([]*orchv1.Deployment, 0, len(raws))
	for _, raw := range raws {
		d, err := s.deployments.Decode(raw)
		if err != nil {
			return nil, err
		}
		if d, err = s.present(ctx, ws, d); err != nil {
			return nil, err
		}
		found = append(found, d)
	}
	return found, nil
}

func (s *Service) selection(ctx context.Context, q proto.Message) (uuid.UUID, *query.Selection, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return uuid.Nil, nil, err
	}
	plan, err := query.NewPlan(query.Deployment, q)
	if err != nil {
		return uuid.Nil, nil, err
	}
	selection, err := s.resolver.Select(ctx, info.Workspace, plan)
	return info.Workspace, selection, err
}
