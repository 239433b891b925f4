package events

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Heartbeat is a stored heartbeat of a flow run.
type Heartbeat struct {
	Occurred time.Time // By the clock of the client.
	Received time.Time // By the clock of the server.
	// Version is the version that the client states; empty for none.
	Version string
}

// Heartbeats reads the newest three heartbeats of a flow run that occurred after a time, the latest first.
func (s *Service) Heartbeats(ctx context.Context, ws, run uuid.UUID, after time.Time) ([]Heartbeat, error) {
	// The index by name has the heartbeats of all runs.
	found, err := s.events.Find(ctx, ws, store.Query{Index: query.EventsByResource, Filter: bson.D{
		{Key: "resource_id", Value: s.vocab.Name("flow-run", run.String())},
		{Key: "event", Value: s.vocab.Name("flow-run", "heartbeat")},
		{Key: "occurred", Value: bson.D{{Key: "$gt", Value: after.UnixMicro()}}},
	}, Sort: bson.D{{Key: "occurred", Value: -1}, {Key: "_id", Value: -1}}, Limit: 3, Fields: []string{"occurred", "received", "resource"}})
	if err != nil {
		return nil, err
	}
	beats := make([]Heartbeat, len(found))
	for i, e := range found {
		beats[i] = Heartbeat{
			Occurred: e.GetOccurred().AsTime(), Received: e.GetReceived().AsTime(), Version: e.GetResource().GetLabels()[s.vocab.Name("version")],
		}
	}
	return beats, nil
}

// CountAbout counts the stored events that name a flow run as their own or as a related resource.
func (s *Service) CountAbout(ctx context.Context, ws, run uuid.UUID) (int64, error) {
	return s.events.Count(ctx, ws, store.Query{Filter: bson.D{{Key: "resource_ids", Value: s.vocab.Name("flow-run", run.String())}}})
}
