package logs

import (
	"context"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ReadLogs returns the logs that match.
func (s *Service) ReadLogs(ctx context.Context, r *orchv1.ReadLogsRequest) (*orchv1.LogList, error) {
	q := r.GetQuery()
	found, err := s.source.List(ctx, q, q.GetSort(), q.GetOffset(), q.GetLimit())
	return &orchv1.LogList{Logs: found}, err
}
