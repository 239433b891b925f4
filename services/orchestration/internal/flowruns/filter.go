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
	selection, err := s.selection(ctx, q)
	if err != nil {
		return nil, err
	}
	runs, err := s.page(ctx, selection, q.GetSort(), q.GetOffset(), limit)
	return &orchv1.FlowRunList{FlowRuns: runs}, err
}

// ListFlowRuns answers a page of all runs.
func (s *Service) ListFlowRuns(ctx context.Context, r *orchv1.ListFlowRunsRequest) (*orchv1.FlowRunList, error) {
	limit, err := page.Limit(r.GetLimit())
	if err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, nil)
	if err != nil {
		return nil, err
	}
	runs, err := s.page(ctx, selection, orchv1.FlowRunSort_FLOW_RUN_SORT_UNSPECIFIED, r.GetOffset(), limit)
	return &orchv1.FlowRunList{FlowRuns: runs}, err
}

// PaginateFlowRuns answers one page of the runs that match, and how many there are.
func (s *Service) PaginateFlowRuns(ctx context.Context, r *orchv1.PaginateFlowRunsRequest) (*orchv1.FlowRunPage, error) {
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
	runs, err := s.page(ctx, selection, q.GetSort(), page.Offset(number, limit), limit)
	return &orchv1.FlowRunPage{Results: runs, Count: count, Limit: limit, Pages: page.Pages(count, limit), Page: number}, err
}

// page reads runs as clients see them. Without a sort, the newest come first.
func (s *Service) page(ctx context.Context, of *query.Selection, order orchv1.FlowRunSort, offset, limit int64) ([]*orchv1.FlowRun, error) {
	if limit == 0 {
		return nil, nil
	}
	if order == orchv1.FlowRunSort_FLOW_RUN_SORT_UNSPECIFIED {
		order = orchv1.FlowRunSort_FLOW_RUN_SORT_ID_DESC
	}
	sort, err := query.Sort(order)
	if err != nil {
		return nil, err
	}
	raws, err := of.Page(ctx, sort, offset, limit)
	if err != nil {
		return nil, err
	}
	now := s.runs.Store().Now()
	runs := make([]*orchv1.FlowRun, 0, len(raws))
	for _, raw := range raws {
		run, err := s.runs.Decode(raw)
		if err != nil {
			return nil, err
		}
		runs = append(runs, present(run, now))
	}
	return runs, nil
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
