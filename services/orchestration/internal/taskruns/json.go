package taskruns

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
)

// RegisterJSON registers the methods that append the JSON of their responses from stored documents.
func (s *Service) RegisterJSON(r rpc.JSONRegistrar) {
	rpc.HandleJSON(r, orchv1.TaskRunService_ReadTaskRun_FullMethodName, s.appendTaskRun)
	rpc.HandleJSON(r, orchv1.TaskRunService_ListTaskRuns_FullMethodName, s.appendAllTaskRuns)
	rpc.HandleJSON(r, orchv1.TaskRunService_ReadTaskRuns_FullMethodName, s.appendTaskRuns)
}

// appendTaskRun is ReadTaskRun as JSON.
func (s *Service) appendTaskRun(ctx context.Context, r *orchv1.ReadTaskRunRequest, dst []byte) ([]byte, error) {
	doc, err := s.readRaw(ctx, r)
	if err != nil {
		return dst, err
	}
	return s.encoder.Append(dst, doc, s.runs.Store().Now())
}

// appendTaskRuns is ReadTaskRuns as JSON.
func (s *Service) appendTaskRuns(ctx context.Context, r *orchv1.ReadTaskRunsRequest, dst []byte) ([]byte, error) {
	q := r.GetQuery()
	if _, ok := byDuration(q.GetSort()); !ok {
		return s.appendList(ctx, dst, q, q.GetSort(), q)
	}
	// Runs in the order of their durations are sorted in memory, so they are messages already.
	list, err := s.ReadTaskRuns(ctx, r)
	if err != nil {
		return dst, err
	}
	message := list.ProtoReflect()
	return restjson.AppendField(dst, message, message.Descriptor().Fields().ByName("task_runs"))
}

// appendAllTaskRuns is ListTaskRuns as JSON.
func (s *Service) appendAllTaskRuns(ctx context.Context, r *orchv1.ListTaskRunsRequest, dst []byte) ([]byte, error) {
	return s.appendList(ctx, dst, nil, nil, r)
}

func (s *Service) appendList(
	ctx context.Context, dst []byte, q proto.Message, sort protoreflect.Enum, page pagination.Query,
) ([]byte, error) {
	return s.encoder.List(dst, func(visit func(bson.Raw) error) error {
		return s.source.VisitPage(ctx, q, sort, page, visit)
	})
}
