package webhooks

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
)

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
	oldestFirst := bson.D{{Key: "received", Value: 1}, {Key: "_id", Value: 1}}
	entries, err := s.deliveries.Find(ctx, ws, deliveriesOf(webhook), oldestFirst, 0, s.maxStored)
	if err != nil {
		return nil, err
	}
	type outcome struct {
		status int64
		reason string
	}
	summary := &orchv1.WebhookDeliverySummary{}
	counts := map[outcome]*orchv1.WebhookDeliveryCount{}
	for _, d := range entries {
		key := outcome{d.GetStatus(), d.GetReason()}
		count := counts[key]
		if count == nil {
			count = &orchv1.WebhookDeliveryCount{Status: d.GetStatus(), Reason: d.Reason, First: d.GetReceived()}
			counts[key] = count
			summary.Counts = append(summary.Counts, count)
		}
		count.Count += max(d.GetCount(), 1)
		count.Last = d.GetReceived()
	}
	slices.SortFunc(summary.Counts, func(a, b *orchv1.WebhookDeliveryCount) int {
		return cmp.Or(cmp.Compare(a.GetStatus(), b.GetStatus()), cmp.Compare(a.GetReason(), b.GetReason()))
	})
	return summary, nil
}
