package taskruns

import (
	"context"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/runhistogram"
)

// ReadTaskRuns returns the runs that match filters on their own fields and on related resources.
func (s *Service) ReadTaskRuns(ctx context.Context, r *orchv1.ReadTaskRunsRequest) (*orchv1.TaskRunList, error) {
	q := r.GetQuery()
	runs, err := s.source.List(ctx, q, q.GetSort(), q.GetOffset(), q.GetLimit())
	return &orchv1.TaskRunList{TaskRuns: s.presentAll(runs)}, err
}

// ListTaskRuns returns a page of all runs.
func (s *Service) ListTaskRuns(ctx context.Context, r *orchv1.ListTaskRunsRequest) (*orchv1.TaskRunList, error) {
	runs, err := s.source.List(ctx, nil, nil, r.GetOffset(), r.GetLimit())
	return &orchv1.TaskRunList{TaskRuns: s.presentAll(runs)}, err
}

// PaginateTaskRuns returns one page of the matching runs and their count.
func (s *Service) PaginateTaskRuns(ctx context.Context, r *orchv1.PaginateTaskRunsRequest) (*orchv1.TaskRunPage, error) {
	q := r.GetQuery()
	p, err := s.source.Paginate(ctx, q, q.GetSort(), q.GetPage(), q.GetLimit())
	if err != nil {
		return nil, err
	}
	answer := &orchv1.TaskRunPage{Count: p.Count, Limit: p.Limit, Pages: p.Pages, Page: p.Page}
	for _, run := range s.presentAll(p.Results) {
		answer.Results = append(answer.Results, summary(run))
	}
	return answer, nil
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
	span, err := runhistogram.NewSpan(q.GetHistoryStart(), q.GetHistoryEnd(), q.GetHistoryIntervalSeconds())
	if err != nil {
		return nil, err
	}
	selection, err := s.source.Select(ctx, q)
	if err != nil {
		return nil, err
	}
	return runhistogram.Buckets(ctx, selection, span, s.runs.Store().Now())
}
