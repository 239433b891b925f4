package taskruns

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// purgeBatch is the number of runs of one command.
const purgeBatch = 500

// terminal are the runs in a terminal state.
var terminal = bson.E{Key: "state.type", Value: bson.D{{Key: "$in", Value: runs.States(rules.Terminal)}}}

// settled are the runs in a terminal state whose deletion causes nothing: they hold no slot and have no pending effects. A
// run with tags may hold slots that a client took for it.
var settled = bson.D{
	{Key: "tags", Value: bson.D{{Key: "$exists", Value: false}}},
	{Key: "slot_lease_id", Value: bson.D{{Key: "$exists", Value: false}}},
	store.WithoutEffects,
}

// purge deletes the matching settled runs with their histories, at most limit, by three commands. The filter selects runs
// in terminal states. A run that changes meanwhile stays, and loses its history.
func (s *Service) purge(ctx context.Context, ws uuid.UUID, filter bson.D, limit int64) (store.Expiry, error) {
	matching := append(append(bson.D(nil), filter...), settled...)
	ids, err := store.IDs(ctx, s.runs, ws, matching, limit)
	if err != nil || len(ids) == 0 {
		return store.Expiry{}, err
	}
	if err := s.history.Forget(ctx, ws, ids...); err != nil {
		return store.Expiry{}, err
	}
	err = s.runs.DeleteMany(ctx, ws, append(bson.D{{Key: "_id", Value: store.OneOf(ids)}}, matching...))
	return store.Expiry{Deleted: int64(len(ids)), More: int64(len(ids)) == limit}, err
}

// ownExpired is the filter of expired runs without a flow run.
func ownExpired(e store.Expired) bson.D {
	return append(bson.D{{Key: "flow_run_id", Value: nil}}, e.Filter("end_time")...)
}

// CountExpired counts expired runs without a flow run by their end, up to a limit.
func (s *Service) CountExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (int64, error) {
	return s.runs.Count(ctx, ws, store.Query{Filter: ownExpired(e), Limit: limit})
}

// DeleteExpired deletes expired runs without a flow run, at most limit. It publishes no events.
func (s *Service) DeleteExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (store.Expiry, error) {
	filter := ownExpired(e)
	expiry, err := s.purge(ctx, ws, filter, limit)
	if err != nil || expiry.More {
		return expiry, err
	}
	rest, err := store.IDs(ctx, s.runs, ws, filter, limit-expiry.Deleted)
	if err != nil {
		return expiry, err
	}
	for _, id := range rest {
		err := s.delete(ctx, ws, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // A concurrent call may have deleted it.
			return expiry, err
		}
		expiry.Deleted++
	}
	expiry.More = expiry.Deleted == limit
	return expiry, nil
}
