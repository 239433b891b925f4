package concurrency

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// FreeOf returns the numbers of free slots of deployments whose runs wait for a slot. Deployments that share a limit share the number. A
// deployment without a limit has none, and so has one whose runs are cancelled instead.
func (l *Limits) FreeOf(ctx context.Context, ws uuid.UUID, deployments []uuid.UUID) (map[string]*int64, error) {
	if len(deployments) == 0 {
		return nil, nil
	}
	limited := append(bson.D{{Key: "_id", Value: store.OneOf(deployments)}}, bson.E{Key: "$or", Value: bson.A{
		bson.D{{Key: "concurrency_limit_id", Value: bson.D{{Key: "$exists", Value: true}}}},
		bson.D{{Key: "concurrency_slots", Value: bson.D{{Key: "$exists", Value: true}}}},
	}})
	found, err := l.deployments.Find(ctx, ws, store.Query{
		Filter: limited, Sort: bson.D{{Key: "_id", Value: 1}}, Without: []string{"parameter_openapi_schema", "parameters", "pull_steps", "job_variables", "schedules"},
	})
	if err != nil {
		return nil, err
	}
	free := map[string]*int64{}
	byID, byName := map[string][]string{}, map[string][]string{} // The deployments of limits.
	var ids []uuid.UUID
	for _, d := range found {
		switch {
		case d.GetConcurrencyOptions().GetCollisionStrategy() == orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_CANCEL_NEW:
		case d.ConcurrencyLimitId != nil:
			id, err := uuid.Parse(d.GetConcurrencyLimitId())
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
			byID[id.String()] = append(byID[id.String()], d.GetId())
		case d.ConcurrencySlots != nil:
			name := nameOfDeployment(d.GetId())
			byName[name] = append(byName[name], d.GetId())
		}
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	var filters []bson.D
	if len(ids) > 0 {
		filters = append(filters, bson.D{{Key: "_id", Value: store.OneOf(ids)}})
	}
	if len(names) > 0 {
		filters = append(filters, named(names))
	}
	for _, filter := range filters {
		limits, err := l.find(ctx, ws, filter)
		if err != nil {
			return nil, err
		}
		for _, limit := range limits {
			if !limit.GetActive() {
				continue
			}
			slots := l.Free(limit)
			for _, d := range append(byID[limit.GetId()], byName[limit.GetName()]...) {
				free[d] = &slots
			}
		}
	}
	return free, nil
}
