package flows

import (
	"context"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ReadFlows returns the flows that match filters on their own fields and on related resources.
func (s *Service) ReadFlows(ctx context.Context, r *orchv1.ReadFlowsRequest) (*orchv1.FlowList, error) {
	q := r.GetQuery()
	flows, err := s.source.List(ctx, q, q.GetSort(), q)
	return &orchv1.FlowList{Flows: flows}, err
}

// ListFlows returns a page of all flows.
func (s *Service) ListFlows(ctx context.Context, r *orchv1.ListFlowsRequest) (*orchv1.FlowList, error) {
	flows, err := s.source.List(ctx, nil, nil, r)
	return &orchv1.FlowList{Flows: flows}, err
}

// PaginateFlows returns one page of the matching flows and their count.
func (s *Service) PaginateFlows(ctx context.Context, r *orchv1.PaginateFlowsRequest) (*orchv1.FlowPage, error) {
	q := r.GetQuery()
	p, err := s.source.Paginate(ctx, q, q.GetSort())
	return &orchv1.FlowPage{Results: p.Results, Count: p.Count, Limit: p.Limit, Pages: p.Pages, Page: p.Page}, err
}

// CountFlows counts the flows that match.
func (s *Service) CountFlows(ctx context.Context, r *orchv1.CountFlowsRequest) (*orchv1.CountResponse, error) {
	return s.source.Count(ctx, r.GetQuery())
}
