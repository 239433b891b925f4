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
	if offer := rpc.EncodedResponse(ctx, orchv1.LogService_ReadLogs_FullMethodName); offer != nil {
		return &orchv1.LogList{}, s.encoder.List(offer, func(visit func(bson.Raw) error) error {
			return s.source.VisitPage(ctx, q, q.GetSort(), q, visit)
		})
	}
	found, err := s.source.List(ctx, q, q.GetSort(), q)
	return &orchv1.LogList{Logs: found}, err
}
