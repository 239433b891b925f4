package automations

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadAutomationDeliveries returns the calls and notifications of an automation, newest first unless the query orders them.
func (s *Service) ReadAutomationDeliveries(ctx context.Context, r *orchv1.ReadAutomationDeliveriesRequest) (*orchv1.DestinationDeliveryList, error) {
	if _, err := s.owned(ctx, r.GetId()); err != nil {
		return nil, err
	}
	q := &orchv1.DestinationDeliveryQuery{DestinationDeliveries: &orchv1.DestinationDeliveryFilter{}}
	if f := r.GetQuery().GetDestinationDeliveries(); f != nil {
		q.DestinationDeliveries = proto.CloneOf(f)
	}
	q.DestinationDeliveries.AutomationId = &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{r.GetId()}}}
	found, err := s.delivered.List(ctx, q, r.GetQuery().GetSort(), r.GetQuery())
	return &orchv1.DestinationDeliveryList{Deliveries: found}, err
}

// ReadAutomationDelivery returns one of these deliveries.
func (s *Service) ReadAutomationDelivery(ctx context.Context, r *orchv1.ReadAutomationDeliveryRequest) (*orchv1.DestinationDelivery, error) {
	ws, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	id, err := resourceid.Parse(r.GetDeliveryId())
	if err != nil {
		return nil, err
	}
	d, err := s.deliveries.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && d.GetAutomationId() != r.GetId() {
		return nil, rpc.ExceptionMessage(http.StatusNotFound, "Delivery not found")
	}
	return d, err
}

// owned returns the workspace of a request if it has the automation.
func (s *Service) owned(ctx context.Context, automation string) (uuid.UUID, error) {
	ws, id, err := resourceid.FromRequest(ctx, automation)
	if err != nil {
		return ws, translate(err)
	}
	_, err = s.automations.Get(ctx, ws, id)
	return ws, translate(err)
}
