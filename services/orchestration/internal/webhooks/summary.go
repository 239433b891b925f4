package webhooks

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// oldestFirst is the order in which deliveries are counted.
var oldestFirst = bson.D{{Key: "received", Value: 1}, {Key: "_id", Value: 1}}

// SummarizeDeliveries counts the requests of a webhook's delivery log by status and reason. The next entry of a group
// includes the count of refused requests without an entry.
func (s *Service) SummarizeDeliveries(ctx context.Context, r *orchv1.SummarizeDeliveriesRequest) (*orchv1.WebhookDeliverySummary, error) {
	info, _, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	id, err := resourceid.Parse(r.GetId())
	if err != nil {
		return nil, err
	}
	return s.summarize(ctx, info.Workspace, id)
}

func (s *Service) summarize(ctx context.Context, ws, webhook uuid.UUID) (*orchv1.WebhookDeliverySummary, error) {
	type outcome struct {
		status int64
		reason string
	}
	summary := &orchv1.WebhookDeliverySummary{}
	counts := map[outcome]*orchv1.WebhookDeliveryCount{}
	err := s.deliveries.Each(ctx, ws, store.Query{Filter: ofWebhook(webhook), Sort: oldestFirst}, func(d *orchv1.WebhookDelivery) bool {
		key := outcome{d.GetStatus(), d.GetReason()}
		count := counts[key]
		if count == nil {
			count = &orchv1.WebhookDeliveryCount{Status: d.GetStatus(), Reason: d.Reason, First: d.GetReceived()}
			counts[key] = count
			summary.Counts = append(summary.Counts, count)
		}
		count.Count += max(d.GetCount(), 1)
		count.Last = d.GetReceived()
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(summary.Counts, func(a, b *orchv1.WebhookDeliveryCount) int {
		return cmp.Or(cmp.Compare(a.GetStatus(), b.GetStatus()), cmp.Compare(a.GetReason(), b.GetReason()))
	})
	return summary, nil
}
