package destinations

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
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
	if err != nil {
		return nil, err
	}
	return &orchv1.DestinationDeliveryList{Deliveries: found}, s.maskBodies(ctx, found...)
}

// maskedBody replaces the body of a delivery.
const maskedBody = "***"

// maskBodies masks the bodies of deliveries, which have the data of events, for callers who may not read events.
func (s *Service) maskBodies(ctx context.Context, deliveries ...*orchv1.DestinationDelivery) error {
	info, err := request.Incoming(ctx)
	if err != nil {
		return err
	}
	scopes, err := s.Tenancy.WorkspaceScopes(ctx, info, info.Workspace)
	if err != nil || scopes.Has("see_events") {
		return err
	}
	for _, d := range deliveries {
		if d.GetBody() != "" {
			d.Body = maskedBody
		}
	}
	return nil
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
		if err != nil {
			return nil, deliveryNotFound.Translate(err)
		}
		return d, s.maskBodies(ctx, d)
	})
}
