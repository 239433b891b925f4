package events

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// LastOccurred returns the time of the last stored event of a name; the zero time means none. An index has it.
func (s *Service) LastOccurred(ctx context.Context, ws uuid.UUID, name string) (last time.Time, err error) {
	by := store.Query{
		Filter: bson.D{{Key: "event", Value: name}}, Fields: []string{"occurred"}, Sort: query.EventSort(orchv1.EventOrder_EVENT_ORDER_DESC), Limit: 1,
	}
	err = store.EachRaw(ctx, s.events, ws, by, func(raw bson.Raw) bool {
		occurred, _ := raw.Lookup("occurred").AsInt64OK()
		last = time.UnixMicro(occurred).UTC()
		return true
	})
	return last, err
}

// CountWith counts the stored events that have a resource, up to a limit. An index has them.
func (s *Service) CountWith(ctx context.Context, ws uuid.UUID, resource string, limit int64) (int64, error) {
	return s.events.Count(ctx, ws, store.Query{Filter: bson.D{{Key: "resource_ids", Value: resource}}, Limit: limit})
}
