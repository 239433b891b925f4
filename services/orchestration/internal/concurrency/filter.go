package concurrency

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
)

// byName is the order of limits in lists.
var byName = bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}

// ReadAllConcurrencyLimitsV2 returns all limits, by name.
func (s *Service) ReadAllConcurrencyLimitsV2(ctx context.Context, r *orchv1.ReadAllConcurrencyLimitsV2Request) (*orchv1.GlobalConcurrencyLimitList, error) {
	limits, err := s.page(ctx, bson.D{}, r.GetQuery())
	if err != nil {
		return nil, err
	}
	list := &orchv1.GlobalConcurrencyLimitList{Limits: make([]*orchv1.DeploymentConcurrencyLimit, 0, len(limits))}
	for _, limit := range limits {
		list.Limits = append(list.Limits, s.present(limit))
	}
	return list, nil
}

func (s *Service) page(ctx context.Context, filter bson.D, q pagination.Query) ([]*orchv1.ConcurrencyLimitV2, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	return pagination.Find(ctx, s.limits, info.Workspace, filter, byName, q, q)
}
