package flowruns

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
)

// RegisterJSON registers the methods that append the JSON of their responses from stored documents.
func (s *Service) RegisterJSON(r rpc.JSONRegistrar) {
	rpc.HandleJSON(r, orchv1.FlowRunService_ReadFlowRun_FullMethodName, s.appendFlowRun)
	rpc.HandleJSON(r, orchv1.FlowRunService_ListFlowRuns_FullMethodName, s.appendAllFlowRuns)
	rpc.HandleJSON(r, orchv1.FlowRunService_ReadFlowRuns_FullMethodName, s.appendFlowRuns)
	rpc.HandleJSON(r, orchv1.FlowRunService_PaginateFlowRuns_FullMethodName, s.appendFlowRunPage)
}

// appendFlowRun is ReadFlowRun as JSON.
func (s *Service) appendFlowRun(ctx context.Context, r *orchv1.ReadFlowRunRequest, dst []byte) ([]byte, error) {
	doc, err := s.readRaw(ctx, r)
	if err != nil {
		return dst, err
	}
	return s.encoder.Append(dst, doc, s.runs.Store().Now())
}

// appendFlowRuns is ReadFlowRuns as JSON.
func (s *Service) appendFlowRuns(ctx context.Context, r *orchv1.ReadFlowRunsRequest, dst []byte) ([]byte, error) {
	q := r.GetQuery()
	return s.appendList(ctx, dst, q, q.GetSort(), q)
}

// appendAllFlowRuns is ListFlowRuns as JSON.
func (s *Service) appendAllFlowRuns(ctx context.Context, r *orchv1.ListFlowRunsRequest, dst []byte) ([]byte, error) {
	return s.appendList(ctx, dst, nil, nil, r)
}

func (s *Service) appendList(
	ctx context.Context, dst []byte, q proto.Message, sort protoreflect.Enum, page pagination.Query,
) ([]byte, error) {
	return s.encoder.List(dst, func(visit func(bson.Raw) error) error {
		return s.source.VisitPage(ctx, q, sort, page, visit)
	})
}

// appendFlowRunPage is PaginateFlowRuns as JSON.
func (s *Service) appendFlowRunPage(ctx context.Context, r *orchv1.PaginateFlowRunsRequest, dst []byte) ([]byte, error) {
	q := r.GetQuery()
	return s.encoder.Page(dst, func(visit func(bson.Raw) error) (proto.Message, error) {
		p, err := s.source.VisitNumbered(ctx, q, q.GetSort(), visit)
		return &orchv1.FlowRunPage{Count: p.Count, Limit: p.Limit, Pages: p.Pages, Page: p.Page}, err
	})
}
