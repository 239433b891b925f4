package taskruns

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/history"
	"github.com/orch-project/orch/services/orchestration/internal/page"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// ReadTaskRuns answers the runs that match, by their own fields and by those of what they belong to.
func (s *Service) ReadTaskRuns(ctx context.Context, r *orchv1.ReadTaskRunsRequest) (*orchv1.TaskRunList, error) {
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
	return &orchv1.TaskRunList{TaskRuns: runs}, err
}

// ListTaskRuns answers a page of all runs.
func (s *Service) ListTaskRuns(ctx context.Context, r *orchv1.ListTaskRunsRequest) (*orchv1.TaskRunList, error) {
	limit, err := page.Limit(r.GetLimit())
	if err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, nil)
	if err != nil {
		return nil, err
	}
	runs, err := s.page(ctx, selection, orchv1.TaskRunSort_TASK_RUN_SORT_UNSPECIFIED, r.GetOffset(), limit)
	return &orchv1.TaskRunList{TaskRuns: runs}, err
}

// PaginateTaskRuns answers one page of the runs that match, and how many there are.
func (s *Service) PaginateTaskRuns(ctx context.Context, r *orchv1.PaginateTaskRunsRequest) (*orchv1.TaskRunPage, error) {
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
	if err != nil {
		return nil, err
	}
	answer := &orchv1.TaskRunPage{Count: count, Limit: limit, Pages: page.Pages(count, limit), Page: number}
	for _, run := range runs {
		answer.Results = append(answer.Results, summary(run))
	}
	return answer, nil
}

// CountTaskRuns counts the runs that match.
func (s *Service) CountTaskRuns(ctx context.Context, r *orchv1.CountTaskRunsRequest) (*orchv1.CountResponse, error) {
	selection, err := s.selection(ctx, r.GetQuery())
	if err != nil {
		return nil, err
	}
	n, err := selection.Count(ctx)
	return &orchv1.CountResponse{Count: n}, err
}

// TaskRunHistory counts the runs that match by when they were expected to start, and by state.
func (s *Service) TaskRunHistory(ctx context.Context, r *orchv1.TaskRunHistoryRequest) (*orchv1.HistoryList, error) {
	q := r.GetQuery()
	span, err := history.NewSpan(q.GetHistoryStart(), q.GetHistoryEnd(), q.GetHistoryIntervalSeconds())
	if err != nil {
		return nil, err
	}
	selection, err := s.selection(ctx, q)
	if err != nil {
		return nil, err
	}
	return history.Buckets(ctx, selection, span, s.runs.Store().Now())
}

// page reads runs as clients see them. Without a sort, the newest come first.
func (s *Service) page(ctx context.Context, of *query.Selection, order orchv1.TaskRunSort, offset, limit int64) ([]*orchv1.TaskRun, error) {
	if limit == 0 {
		return nil, nil
	}
	if order == orchv1.TaskRunSort_TASK_RUN_SORT_UNSPECIFIED {
		order = orchv1.TaskRunSort_TASK_RUN_SORT_ID_DESC
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
	runs := make([]*orchv1.TaskRun, 0, len(raws))
	for _, raw := range raws {
		run, err := s.runs.Decode(raw)
		if err != nil {
			return nil, err
		}
		runs = append(runs, present(run, now))
	}
	return runs, nil
}

func (s *Service) selection(ctx context.Context, q proto.Message) (*query.Selection, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := query.NewPlan(query.TaskRun, q)
	if err != nil {
		return nil, err
	}
	return s.resolver.Select(ctx, info.Workspace, plan)
}
