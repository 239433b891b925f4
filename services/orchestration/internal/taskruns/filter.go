package taskruns

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
)

// ReadTaskRuns returns the runs that match filters on their own fields and on related resources.
func (s *Service) ReadTaskRuns(ctx context.Context, r *orchv1.ReadTaskRunsRequest) (*orchv1.TaskRunList, error) {
	q := r.GetQuery()
	if longestFirst, ok := byDuration(q.GetSort()); ok {
		size, err := durationPage(q.GetPageToken(), q.GetLimit())
		if err != nil {
			return nil, err
		}
		runs, _, err := s.listByDuration(ctx, q, longestFirst, q.GetOffset(), size)
		return &orchv1.TaskRunList{TaskRuns: s.presentAll(runs)}, err
	}
	return s.list(ctx, q, q.GetSort(), q)
}

// ListTaskRuns returns a page of all runs.
func (s *Service) ListTaskRuns(ctx context.Context, r *orchv1.ListTaskRunsRequest) (*orchv1.TaskRunList, error) {
	return s.list(ctx, nil, nil, r)
}

// list returns a page of runs.
func (s *Service) list(ctx context.Context, q proto.Message, sort protoreflect.Enum, page pagination.Query) (*orchv1.TaskRunList, error) {
	runs, err := s.source.List(ctx, q, sort, page)
	return &orchv1.TaskRunList{TaskRuns: s.presentAll(runs)}, err
}

// PaginateTaskRuns returns one page of the matching runs and their count.
func (s *Service) PaginateTaskRuns(ctx context.Context, r *orchv1.PaginateTaskRunsRequest) (*orchv1.TaskRunPage, error) {
	q := r.GetQuery()
	p, err := s.paginate(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := &orchv1.TaskRunPage{Count: p.Count, Limit: p.Limit, Pages: p.Pages, Page: p.Page}
	for _, run := range s.presentAll(p.Results) {
		answer.Results = append(answer.Results, summary(run))
	}
	return answer, nil
}

func (s *Service) paginate(ctx context.Context, q *orchv1.TaskRunPageQuery) (pagination.Numbered[*orchv1.TaskRun], error) {
	longestFirst, ok := byDuration(q.GetSort())
	if !ok {
		return s.source.Paginate(ctx, q, q.GetSort())
	}
	size, err := durationPage(q.GetPageToken(), q.GetLimit())
	if err != nil {
		return pagination.Numbered[*orchv1.TaskRun]{}, err
	}
	number := max(q.GetPage(), 1)
	runs, total, err := s.listByDuration(ctx, q, longestFirst, pagination.Offset(number, size), size)
	return pagination.Numbered[*orchv1.TaskRun]{
		Results: runs, Count: total, Limit: size, Pages: pagination.Pages(total, size), Page: number,
	}, err
}

// presentAll adds computed fields, which are not stored.
func (s *Service) presentAll(runs []*orchv1.TaskRun) []*orchv1.TaskRun {
	now := s.runs.Store().Now()
	for _, run := range runs {
		present(run, now)
	}
	return runs
}

// CountTaskRuns counts the runs that match.
func (s *Service) CountTaskRuns(ctx context.Context, r *orchv1.CountTaskRunsRequest) (*orchv1.CountResponse, error) {
	return s.source.Count(ctx, r.GetQuery())
}

// TaskRunHistory counts the matching runs by expected start time and state.
func (s *Service) TaskRunHistory(ctx context.Context, r *orchv1.TaskRunHistoryRequest) (*orchv1.HistoryList, error) {
	q := r.GetQuery()
	span, err := runs.NewSpan(q.GetHistoryStart(), q.GetHistoryEnd(), q.GetHistoryIntervalSeconds())
	if err != nil {
		return nil, err
	}
	selection, err := s.source.Select(ctx, q)
	if err != nil {
		return nil, err
	}
	return runs.Buckets(ctx, selection, nil, span, s.runs.Store().Now())
}
