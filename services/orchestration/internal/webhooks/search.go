package webhooks

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
)

// SearchDeliveries returns the deliveries of a webhook that contain a text, newest first.
func (s *Service) SearchDeliveries(ctx context.Context, r *orchv1.SearchDeliveriesRequest) (*orchv1.WebhookDeliverySearchResult, error) {
	if _, _, err := s.owned(ctx, r.GetId()); err != nil {
		return nil, err
	}
	search := r.GetSearch()
	size, err := pagination.Limit(search.GetLimit())
	if err != nil {
		return nil, err
	}
	found, err := s.search(ctx, r.GetId(), search.GetDeliveries(), search, search.GetPageToken(), size, search.Text)
	if err != nil {
		return nil, err
	}
	for _, d := range found.Results {
		presentDelivery(d)
	}
	result := &orchv1.WebhookDeliverySearchResult{Deliveries: found.Results, Searched: found.Searched}
	result.SearchedTo, result.NextPageToken = progress(found)
	return result, nil
}

// search reads the deliveries of a webhook that match a filter, and returns those that contain a text; nil accepts all. The message page
// has the criteria of the request.
func (s *Service) search(
	ctx context.Context, id string, filter *orchv1.WebhookDeliveryFilter, page proto.Message, token string, size int64, text *string,
) (pagination.SearchResult[*orchv1.WebhookDelivery], error) {
	matches := func(*orchv1.WebhookDelivery) bool { return true }
	if text != nil {
		matches = deliverylog.Containing(*text)
	}
	q := withinWebhook(id, &orchv1.WebhookDeliveryQuery{Deliveries: filter})
	return s.logged.Search(ctx, q, orchv1.WebhookDeliverySort_WEBHOOK_DELIVERY_SORT_RECEIVED_DESC, page, token, size, matches)
}

// progress returns how far a search has come, and the token that continues it; both are nil when it is complete.
func progress(found pagination.SearchResult[*orchv1.WebhookDelivery]) (*timestamppb.Timestamp, *string) {
	if found.Next == "" {
		return nil, nil
	}
	return found.Last.GetReceived(), &found.Next
}
