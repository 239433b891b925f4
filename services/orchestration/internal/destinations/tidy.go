package destinations

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// keptDeliveries bounds the finished deliveries of a destination.
	keptDeliveries = 10_000
	// tidyEvery is how often the finished deliveries of a destination with work are examined.
	tidyEvery = time.Minute
)

// tidy deletes the finished deliveries whose retention is over, and the oldest ones beyond the bound.
func (s *Service) tidy(ctx context.Context, ws, id uuid.UUID) error {
	where := func(operator string, micros int64) bson.D {
		return append(deliveriesOf(id), bson.E{Key: "finished", Value: bson.D{{Key: operator, Value: micros}}})
	}
	for {
		expiry, err := store.DeleteOldest(ctx, s.deliveries, ws, where("$lt", s.Store.Now().Add(-s.Retention).UnixMicro()), "finished", deleteBatch)
		if err != nil {
			return err
		}
		if !expiry.More {
			break
		}
	}
	finished := func(d *orchv1.DestinationDelivery) time.Time { return d.GetFinished().AsTime() }
	return store.KeepNewest(ctx, s.deliveries, ws, where("$gt", 0), "finished", finished, keptDeliveries)
}
