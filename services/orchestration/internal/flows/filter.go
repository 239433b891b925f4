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
	order := q.GetSort()
	if order == orchv1.FlowSort_FLOW_SORT_UNSPECIFIED {
		order = orchv1.FlowSort_FLOW_SORT_NAME_ASC
	}
	sort, err := query.Sort(order)
	if err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, q)
	if err != nil || limit == 0 {
		return &orchv1.FlowList{}, err
	}
	raws, err := selection.Page(ctx, sort, q.GetOffset(), limit)
	if err != nil {
		return nil, err
	}
	list := &orchv1.FlowList{Flows: make([]*orchv1.Flow, 0, len(raws))}
	for _, raw := range raws {
		flow, err := s.flows.Decode(raw)
		if err != nil {
			return nil, err
		}
		list.Flows = append(list.Flows, flow)
	}
	return list, nil
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
