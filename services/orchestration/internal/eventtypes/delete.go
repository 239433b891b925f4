package eventtypes

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteEventType deletes an event type. The next event of its name begins another one, on other replicas after freshFor at the latest.
func (s *Service) DeleteEventType(ctx context.Context, r *orchv1.DeleteEventTypeRequest) (*emptypb.Empty, error) {
	return crud.ByID(ctx, notFound, r.GetId(), func(ctx context.Context, ws, id uuid.UUID) (*emptypb.Empty, error) {
		t, err := s.types.Get(ctx, ws, id)
		if err != nil {
			return nil, err
		}
		if err := s.types.DeleteMany(ctx, ws, bson.D{{Key: "_id", Value: store.Binary(id)}}); err != nil {
			return nil, err
		}
		s.register.invalidate(ws, t.GetName(), s.Store.Now())
		return &emptypb.Empty{}, nil
	})
}

// expiryBatch bounds the event types that one read of Expire returns.
const expiryBatch = 500

// Expire deletes the event types of all workspaces without events for unseenAfter.
func (s *Service) Expire(ctx context.Context) (deleted int, err error) {
	now := s.Store.Now().UnixMicro()
	due := bson.D{{Key: "expires", Value: bson.D{{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: now}}}}
	found, err := s.types.FindAcross(ctx, store.Query{
		Filter: due, Sort: bson.D{{Key: "expires", Value: 1}}, Limit: expiryBatch, Fields: []string{"_id", "ws"},
	})
	if err != nil {
		return 0, err
	}
	ids := map[uuid.UUID]bson.A{}
	pass := s.Store.Pass(ctx, "delete event types without events")
	for _, one := range found {
		id, err := uuid.Parse(one.Message.GetId())
		if err != nil {
			_ = pass.Record(err, "workspace", one.Workspace)
			continue
		}
		ids[one.Workspace] = append(ids[one.Workspace], store.Binary(id))
	}
	for ws, some := range ids {
		err := s.types.DeleteMany(ctx, ws, append(bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: some}}}}, due...))
		if err == nil {
			deleted += len(some)
		}
		if pass.Record(err, "workspace", ws) != nil {
			break
		}
	}
	return deleted, pass.Outage()
}
