package destinations

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindDeleteDeliveries is the effect that deletes the deliveries of a deleted destination.
const KindDeleteDeliveries = "destination_deliveries_delete"

// deleteBatch bounds the deliveries that one command deletes.
const deleteBatch = 500

// DeleteDestination deletes a destination and its deliveries.
func (s *Service) DeleteDestination(ctx context.Context, r *orchv1.DeleteDestinationRequest) (*emptypb.Empty, error) {
	return crud.ByID(ctx, notFound, r.GetId(), func(ctx context.Context, ws, id uuid.UUID) (*emptypb.Empty, error) {
		err := s.destinations.Delete(ctx, ws, id, func(current *orchv1.Destination) ([]store.Effect, error) {
			if err := ownedByBlock(current); err != nil {
				return nil, err
			}
			effects, err := s.lifecycle.Deleted(ctx, ws)(current)
			if err != nil {
				return nil, err
			}
			return s.audited(ctx, ws, current, "deleted", append(effects, s.Store.ResourceEffect(KindDeleteDeliveries, ws, id)))
		})
		if err != nil {
			return nil, err
		}
		s.flush(ctx, ws, id)
		return &emptypb.Empty{}, nil
	})
}

// DeleteDeliveries executes effects of KindDeleteDeliveries.
func (s *Service) DeleteDeliveries(ctx context.Context, effects []store.Effect) error {
	return store.EachWorkspace(effects, func(ws uuid.UUID, destinations []uuid.UUID) error {
		for _, id := range destinations {
			if err := s.deleteDeliveries(ctx, ws, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) deleteDeliveries(ctx context.Context, ws, destination uuid.UUID) error {
	for {
		expiry, err := store.DeleteOldest(ctx, s.deliveries, ws, deliveriesOf(destination), "queued", deleteBatch)
		if err != nil || !expiry.More {
			return err
		}
	}
}

// deliveriesOf selects the deliveries of a destination.
func deliveriesOf(destination uuid.UUID) bson.D {
	return bson.D{{Key: "destination_id", Value: store.Binary(destination)}}
}
