package webhooks

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// deletionBatch is the number of deliveries that one call deletes at most.
const deletionBatch = 1000

// DeleteDeliveries deletes deliveries from the log of a webhook, and samples, such as those with the data of a person. The audit event is
// stored before the deletion, so a crash leaves no deletion without it.
func (s *Service) DeleteDeliveries(ctx context.Context, r *orchv1.DeleteDeliveriesRequest) (*orchv1.WebhookDeliveryDeletionResult, error) {
	info, w, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	webhook, err := resourceid.Parse(w.GetId())
	if err != nil {
		return nil, err
	}
	deletion := r.GetDeletion()
	if deletion.GetSamples() && deletion.Text == nil {
		return nil, rpc.Invalid(rpc.BodyError("missing", "Field required", "text"))
	}
	found, err := s.search(ctx, r.GetId(), deletion.GetDeliveries(), deletion, deletion.GetPageToken(), deletionBatch, deletion.Text)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(found.Results))
	for i, d := range found.Results {
		if ids[i], err = resourceid.Parse(d.GetId()); err != nil {
			return nil, err
		}
	}
	var samples []uuid.UUID
	if deletion.GetSamples() {
		if samples, err = s.samplesWith(ctx, info.Workspace, webhook, deletion.GetText()); err != nil {
			return nil, err
		}
	}
	if len(ids)+len(samples) > 0 {
		if err := s.deleteAudited(ctx, info, webhook, ids, samples); err != nil {
			return nil, err
		}
	}
	result := &orchv1.WebhookDeliveryDeletionResult{Deleted: int64(len(ids)), Searched: found.Searched, Samples: int64(len(samples))}
	result.SearchedTo, result.NextPageToken = progress(found)
	return result, nil
}

// deleteAudited deletes deliveries and samples of a webhook.
func (s *Service) deleteAudited(ctx context.Context, info request.Info, webhook uuid.UUID, deliveries, samples []uuid.UUID) error {
	_, err := s.webhooks.Mutate(ctx, info.Workspace, webhook, func(current *orchv1.Webhook, _ int64) (*store.Change[*orchv1.Webhook], error) {
		audited, err := s.audited(info, info.Workspace, current, "deliveries-deleted")
		return &store.Change[*orchv1.Webhook]{Message: current, Quiet: true, Effects: []store.Effect{audited}}, err
	})
	if err != nil {
		return translate(err)
	}
	s.flush.Flush(ctx, query.Webhook, info.Workspace, webhook)
	chosen := func(ids []uuid.UUID) bson.D {
		return append(ofWebhook(webhook), bson.E{Key: "_id", Value: store.OneOf(ids)})
	}
	if len(deliveries) > 0 {
		if err := s.deliveries.DeleteMany(ctx, info.Workspace, chosen(deliveries)); err != nil {
			return err
		}
	}
	if len(samples) == 0 {
		return nil
	}
	return s.samples.DeleteMany(ctx, info.Workspace, chosen(samples))
}
