package destinations

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxResent bounds the deliveries that one request sends again.
const maxResent = 10_000

// ResendDestinationDeliveries makes the matching deliveries pending again, without an order. They keep their ids, so a receiver that has
// one of them recognizes the duplicate.
func (s *Service) ResendDestinationDeliveries(ctx context.Context, r *orchv1.ResendDestinationDeliveriesRequest) (*orchv1.DestinationResend, error) {
	return crud.ByID(ctx, notFound, r.GetId(), func(ctx context.Context, ws, id uuid.UUID) (*orchv1.DestinationResend, error) {
		if _, err := s.destinations.Get(ctx, ws, id); err != nil {
			return nil, err
		}
		filter := r.GetQuery().GetDestinationDeliveries()
		if filter == nil {
			filter = &orchv1.DestinationDeliveryFilter{State: &orchv1.DestinationDeliveryStateFilter{Any_: &orchv1.DestinationDeliveryStateList{
				Values: []orchv1.DestinationDeliveryState{orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_FAILED},
			}}}
		}
		limit := r.GetQuery().GetLimit()
		if limit == 0 {
			limit = maxResent
		}
		result := &orchv1.DestinationResend{}
		err := s.logged.Each(ctx, withinDestination(r.GetId(), filter), limit, func(ws, delivery uuid.UUID) error {
			_, err := s.deliveries.Mutate(ctx, ws, delivery, store.Edit(s.resend, nil))
			if err == nil {
				result.Resent++
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		return result, s.makeDue(ctx, ws, id)
	})
}

// makeDue makes a destination due at once.
func (s *Service) makeDue(ctx context.Context, ws, id uuid.UUID) error {
	_, err := s.edit(ctx, ws, id, func(next *orchv1.Destination) ([]store.Effect, error) {
		s.setDue(next)
		return nil, nil
	})
	s.wake()
	return err
}

// resend makes a delivery due at once. The time for its attempts begins again.
func (s *Service) resend(next *orchv1.DestinationDelivery) error {
	next.State = orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_PENDING
	next.NextAttempt = timestamppb.New(s.Store.Now())
	next.FirstAttempt, next.Finished, next.FinishedBytes = nil, nil, nil
	next.WaitingBytes = proto.Int64(int64(max(len(next.GetBody()), 1)))
	return nil
}

func idIs(id uuid.UUID) bson.E { return bson.E{Key: "_id", Value: store.Binary(id)} }
