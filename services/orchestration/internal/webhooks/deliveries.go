package webhooks

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
)

// ListDeliveries returns the deliveries of a webhook, newest first.
func (s *Service) ListDeliveries(ctx context.Context, r *orchv1.ListDeliveriesRequest) (*orchv1.WebhookDeliveryList, error) {
	return s.listDeliveries(ctx, r.GetId(), nil, r)
}

// ReadDeliveries returns the deliveries of a webhook that match.
func (s *Service) ReadDeliveries(ctx context.Context, r *orchv1.ReadDeliveriesRequest) (*orchv1.WebhookDeliveryList, error) {
	return s.listDeliveries(ctx, r.GetId(), r.GetQuery(), r.GetQuery())
}

func (s *Service) listDeliveries(
	ctx context.Context, id string, q *orchv1.WebhookDeliveryQuery, page pagination.Query,
) (*orchv1.WebhookDeliveryList, error) {
	if _, _, err := s.owned(ctx, id); err != nil {
		return nil, err
	}
	found, err := s.logged.List(ctx, withinWebhook(id, q), q.GetSort(), page)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		presentDelivery(d)
	}
	return &orchv1.WebhookDeliveryList{Deliveries: found}, nil
}

// owned returns the webhook of a request, which must be in the request's workspace.
func (s *Service) owned(ctx context.Context, id string) (request.Info, *orchv1.Webhook, error) {
	info, key, err := locate(ctx, id)
	if err != nil {
		return info, nil, translate(err)
	}
	w, err := s.webhooks.Get(ctx, info.Workspace, key)
	return info, w, translate(err)
}

// withinWebhook restricts a query to one webhook, whatever the client sent.
func withinWebhook(id string, q *orchv1.WebhookDeliveryQuery) *orchv1.WebhookDeliveryQuery {
	bound := &orchv1.WebhookDeliveryQuery{Deliveries: &orchv1.WebhookDeliveryFilter{}}
	if f := q.GetDeliveries(); f != nil {
		bound.Deliveries = proto.Clone(f).(*orchv1.WebhookDeliveryFilter)
	}
	bound.Deliveries.WebhookId = &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{id}}}
	return bound
}

// ReadDelivery returns one delivery.
func (s *Service) ReadDelivery(ctx context.Context, r *orchv1.ReadDeliveryRequest) (*orchv1.WebhookDelivery, error) {
	info, _, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	d, err := s.delivery(ctx, info.Workspace, r.GetId(), r.GetDeliveryId())
	if err != nil {
		return nil, err
	}
	return presentDelivery(d), nil
}

// delivery returns one delivery of a webhook.
func (s *Service) delivery(ctx context.Context, ws uuid.UUID, webhook, id string) (*orchv1.WebhookDelivery, error) {
	missing := rpc.Detail(http.StatusNotFound, "Delivery not found")
	key, err := resourceid.Parse(id)
	if err != nil {
		return nil, missing
	}
	d, err := s.deliveries.Get(ctx, ws, key)
	if isNotFound(err) || err == nil && !sameID(d.GetWebhookId(), webhook) {
		return nil, missing
	}
	return d, err
}

func sameID(a, b string) bool {
	x, err := uuid.Parse(a)
	y, err2 := uuid.Parse(b)
	return err == nil && err2 == nil && x == y
}

// presentDelivery sets the computed fields of a delivery.
func presentDelivery(d *orchv1.WebhookDelivery) *orchv1.WebhookDelivery {
	d.Body = deliverylog.Body(d)
	d.Count = max(d.GetCount(), 1) // Absent in entries of earlier versions.
	return d
}
