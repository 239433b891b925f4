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
	// keptDeliveries and keptBytes bound the finished deliveries of a destination, in number and in bytes.
	keptDeliveries = 10_000
	keptBytes      = 1 << 30
	// bytesBatch is the number of the oldest deliveries that are deleted at a time while all have too many bytes.
	bytesBatch = 10
	// tidyEvery is how often the finished deliveries of a destination with work are examined.
	tidyEvery = time.Minute
)

// tidy deletes the finished deliveries whose retention is over, and the oldest ones beyond the bounds.
func (s *Service) tidy(ctx context.Context, ws, id uuid.UUID) error {
	where := func(operator string, micros int64) bson.D {
		return append(deliveriesOf(id), bson.E{Key: "finished", Value: bson.D{{Key: operator, Value: micros}}})
	}
	settled := func(operator string, micros int64) bson.D {
		return append(where(operator, micros), store.WithoutEffects)
	}
	for {
		expiry, err := store.DeleteOldest(ctx, s.deliveries, ws, settled("$lt", s.Store.Now().Add(-s.Retention).UnixMicro()), "finished", deleteBatch)
		if err != nil {
			return err
		}
		if !expiry.More {
			break
		}
	}
	finished := func(d *orchv1.DestinationDelivery) time.Time { return d.GetFinished().AsTime() }
	if err := store.KeepNewest(ctx, s.deliveries, ws, settled("$gt", 0), "finished", finished, keptDeliveries); err != nil {
		return err
	}
	for {
		kept, err := s.measure(ctx, ws, where("$gt", 0), "finished_bytes")
		if err != nil || kept.bytes <= keptBytes {
			return err
		}
		if _, err := store.DeleteOldest(ctx, s.deliveries, ws, settled("$gt", 0), "finished", bytesBatch); err != nil {
			return err
		}
	}
}
