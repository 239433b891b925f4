package flowruns

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/page"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// ReadFlowRuns answers the runs that match, by their own fields and by those of what they belong to.
func (s *Service) ReadFlowRuns(ctx context.Context, r *orchv1.ReadFlowRunsRequest) (*orchv1.FlowRunList, error) {
	q := r.GetQuery()
	limit, err := page.Limit(q.GetLimit())
	if err != nil {
		return nil, err
	}
	order := q.GetSort()
	if order == orchv1.FlowRunSort_FLOW_RUN_SORT_UNSPECIFIED {
		order = orchv1.FlowRunSort_FLOW_RUN_SORT_ID_DESC
	}
	sort, err := query.Sort(order)
	if err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, q)
	if err != nil || limit == 0 {
		return &orchv1.FlowRunList{}, err
	}
	raws, err := selection.Page(ctx, sort, q.GetOffset(), limit)
	if err != nil {
		return nil, err
	}
	now := s.runs.Store().Now()
	list := &orchv1.FlowRunList{FlowRuns: make([]*orchv1.FlowRun, 0, len(raws))}
	for _, raw := range raws {
		run, err := s.runs.Decode(raw)
		if err != nil {
			return nil, err
		}
		list.FlowRuns = append(list.FlowRuns, present(run, now))
	}
	return list, nil
}

// CountFlowRuns counts the runs that match.
func (s *Service) CountFlowRuns(ctx context.Context, r *orchv1.CountFlowRunsRequest) (*orchv1.CountResponse, error) {
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
	plan, err := query.NewPlan(query.FlowRun, q)
	if err != nil {
		return nil, err
	}
	return s.resolver.Select(ctx, info.Workspace, plan)
}
