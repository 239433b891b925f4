package destinations

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
)

// ReadDestinationDeliveries returns the deliveries of a destination that match.
func (s *Service) ReadDestinationDeliveries(ctx context.Context, r *orchv1.ReadDestinationDeliveriesRequest) (*orchv1.DestinationDeliveryList, error) {
	if _, err := crud.ByID(ctx, notFound, r.GetId(), s.destinations.Get); err != nil {
		return nil, err
	}
	q := r.GetQuery()
	found, err := s.logged.List(ctx, withinDestination(r.GetId(), q.GetDestinationDeliveries()), q.GetSort(), q)
	return &orchv1.DestinationDeliveryList{Deliveries: found}, err
}

// withinDestination restricts a filter to the deliveries of one destination, whatever the client sent.
func withinDestination(id string, f *orchv1.DestinationDeliveryFilter) *orchv1.DestinationDeliveryQuery {
	bound := &orchv1.DestinationDeliveryFilter{}
	if f != nil {
		bound = proto.CloneOf(f)
	}
	bound.DestinationId = &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{id}}}
	return &orchv1.DestinationDeliveryQuery{DestinationDeliveries: bound}
}

// ReadDestinationDelivery returns one delivery of a destination.
func (s *Service) ReadDestinationDelivery(ctx context.Context, r *orchv1.ReadDestinationDeliveryRequest) (*orchv1.DestinationDelivery, error) {
	return crud.ByID(ctx, notFound, r.GetId(), func(ctx context.Context, ws, id uuid.UUID) (*orchv1.DestinationDelivery, error) {
		if _, err := s.destinations.Get(ctx, ws, id); err != nil {
			return nil, err
		}
		key, err := resourceid.Parse(r.GetDeliveryId())
		if err != nil {
			return nil, deliveryNotFound.Translate(err)
		}
		d, err := s.deliveries.First(ctx, ws, append(deliveriesOf(id), idIs(key)))
		return d, deliveryNotFound.Translate(err)
	})
}
