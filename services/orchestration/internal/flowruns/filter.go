package flowruns

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
)

// ReadFlowRuns returns the runs that match filters on their own fields and on related resources.
func (s *Service) ReadFlowRuns(ctx context.Context, r *orchv1.ReadFlowRunsRequest) (*orchv1.FlowRunList, error) {
	q := r.GetQuery()
	return s.list(ctx, q, q.GetSort(), q)
}

// ListFlowRuns returns a page of all runs.
func (s *Service) ListFlowRuns(ctx context.Context, r *orchv1.ListFlowRunsRequest) (*orchv1.FlowRunList, error) {
	return s.list(ctx, nil, nil, r)
}

// list returns a page of runs.
func (s *Service) list(ctx context.Context, q proto.Message, sort protoreflect.Enum, page pagination.Query) (*orchv1.FlowRunList, error) {
	runs, err := s.source.List(ctx, q, sort, page)
	return &orchv1.FlowRunList{FlowRuns: s.presentAll(runs)}, err
}

// PaginateFlowRuns returns one page of the matching runs and their count.
func (s *Service) PaginateFlowRuns(ctx context.Context, r *orchv1.PaginateFlowRunsRequest) (*orchv1.FlowRunPage, error) {
	q := r.GetQuery()
	p, err := s.source.Paginate(ctx, q, q.GetSort())
	return &orchv1.FlowRunPage{Results: s.presentAll(p.Results), Count: p.Count, Limit: p.Limit, Pages: p.Pages, Page: p.Page}, err
}

// presentAll adds computed fields, which are not stored.
func (s *Service) presentAll(runs []*orchv1.FlowRun) []*orchv1.FlowRun {
	now := s.runs.Store().Now()
	for _, run := range runs {
		Present(run, now)
	}
	return runs
}

// CountFlowRuns counts the runs that match.
func (s *Service) CountFlowRuns(ctx context.Context, r *orchv1.CountFlowRunsRequest) (*orchv1.CountResponse, error) {
	return s.source.Count(ctx, r.GetQuery())
}
