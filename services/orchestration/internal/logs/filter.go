package logs

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ReadLogs returns the logs that match.
func (s *Service) ReadLogs(ctx context.Context, r *orchv1.ReadLogsRequest) (*orchv1.LogList, error) {
	q := r.GetQuery()
	found, err := s.source.List(ctx, q, q.GetSort(), q)
	return &orchv1.LogList{Logs: found}, err
}

// RegisterJSON registers the methods that append the JSON of their responses from stored documents.
func (s *Service) RegisterJSON(r rpc.JSONRegistrar) {
	rpc.HandleJSON(r, orchv1.LogService_ReadLogs_FullMethodName, s.appendLogs)
}

// appendLogs is ReadLogs as JSON.
func (s *Service) appendLogs(ctx context.Context, r *orchv1.ReadLogsRequest, dst []byte) ([]byte, error) {
	q := r.GetQuery()
	return s.encoder.List(dst, func(visit func(bson.Raw) error) error {
		return s.source.VisitPage(ctx, q, q.GetSort(), q, visit)
	})
}
