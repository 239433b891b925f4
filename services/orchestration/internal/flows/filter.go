package flows

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/page"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// ReadFlows answers the flows that match, by their own fields and by those of what belongs to them.
func (s *Service) ReadFlows(ctx context.Context, r *orchv1.ReadFlowsRequest) (*orchv1.FlowList, error) {
	q := r.GetQuery()
	limit, err := page.Limit(q.GetLimit())
	if err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, q)
	if err != nil {
		return nil, err
	}
	flows, err := s.page(ctx, selection, q.GetSort(), q.GetOffset(), limit)
	return &orchv1.FlowList{Flows: flows}, err
}

// ListFlows answers a page of all flows.
func (s *Service) ListFlows(ctx context.Context, r *orchv1.ListFlowsRequest) (*orchv1.FlowList, error) {
	limit, err := page.Limit(r.GetLimit())
	if err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, nil)
	if err != nil {
		return nil, err
	}
	flows, err := s.page(ctx, selection, orchv1.FlowSort_FLOW_SORT_UNSPECIFIED, r.GetOffset(), limit)
	return &orchv1.FlowList{Flows: flows}, err
}

// PaginateFlows answers one page of the flows that match, and how many there are.
func (s *Service) PaginateFlows(ctx context.Context, r *orchv1.PaginateFlowsRequest) (*orchv1.FlowPage, error) {
	q := r.GetQuery()
	limit, err := page.Limit(q.GetLimit())
	if err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, q)
	if err != nil {
		return nil, err
	}
	count, err := selection.Count(ctx)
	if err != nil {
		return nil, err
	}
	number := max(q.GetPage(), 1)
	flows, err := s.page(ctx, selection, q.GetSort(), page.Offset(number, limit), limit)
	return &orchv1.FlowPage{Results: flows, Count: count, Limit: limit, Pages: page.Pages(count, limit), Page: number}, err
}

// page reads flows. Without a sort, they are ordered by name.
func (s *Service) page(ctx context.Context, of *query.Selection, order orchv1.FlowSort, offset, limit int64) ([]*orchv1.Flow, error) {
	if limit == 0 {
		return nil, nil
	}
	if order == orchv1.FlowSort_FLOW_SORT_UNSPECIFIED {
		order = orchv1.FlowSort_FLOW_SORT_NAME_ASC
	}
	sort, err := query.Sort(order)
	if err != nil {
		return nil, err
	}
	raws, err := of.Page(ctx, sort, offset, limit)
	if err != nil {
		return nil, err
	}
	flows := make([]*orchv1.Flow, 0, len(raws))
	for _, raw := range raws {
		flow, err := s.flows.Decode(raw)
		if err != nil {
			return nil, err
		}
		flows = append(flows, flow)
	}
	return flows, nil
}

// CountFlows counts the flows that match.
func (s *Service) CountFlows(ctx context.Context, r *orchv1.CountFlowsRequest) (*orchv1.CountResponse, error) {
	selection, err := s.selection(ctx, r.GetQuery())
	if err != nil {
		return nil, err
	}
	n, err := selection.Count(ctx)
	return &orchv1.CountResponse{Count: n}, err
}

func (s *Service) selection(ctx context.Context, q proto.Message) (*query.Selection, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := query.NewPlan(query.Flow, q)
	if err != nil {
		return nil, err
	}
	return s.resolver.Select(ctx, info.Workspace, plan)
}
