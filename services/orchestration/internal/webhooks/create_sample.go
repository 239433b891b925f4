package webhooks

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxSamples bounds the samples of a webhook.
	maxSamples = 20
	// maxSample bounds a sample as it is stored, in bytes: a body of the delivery log, and headers.
	maxSample = deliverylog.MaxBody + 64<<10
)

// CreateWebhookSample keeps a request under a name.
func (s *Service) CreateWebhookSample(ctx context.Context, r *orchv1.CreateWebhookSampleRequest) (*orchv1.WebhookSample, error) {
	info, w, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	webhook, err := resourceid.Parse(w.GetId())
	if err != nil {
		return nil, err
	}
	d, err := s.sampledRequest(ctx, info.Workspace, w, r.GetSample())
	if err != nil {
		return nil, err
	}
	id := s.samples.Store().NewID()
	sample := &orchv1.WebhookSample{
		Id: id.String(), WebhookId: webhook.String(), Name: r.GetSample().GetName(),
		Method: d.GetMethod(), Path: d.GetPath(), Query: d.GetQuery(), Headers: d.GetHeaders(), RawBody: d.GetRawBody(),
	}
	if d.GetBodyTruncated() || proto.Size(sample) > maxSample {
		return nil, rpc.Detail(http.StatusUnprocessableEntity,
			fmt.Sprintf("A sample has a body of at most %d bytes, and at most %d bytes with its headers.", deliverylog.MaxBody, maxSample))
	}
	if err := s.samples.Insert(ctx, info.Workspace, sample); err != nil {
		return nil, sampleNameTaken(err)
	}
	if err := s.checkSamples(ctx, info.Workspace, webhook); err != nil {
		if failed := s.samples.DeleteMany(ctx, info.Workspace, bson.D{{Key: "_id", Value: store.Binary(id)}}); failed != nil {
			return nil, failed
		}
		return nil, err
	}
	return presentSample(sample), nil
}

// sampledRequest returns the request to keep, as the delivery log keeps requests.
func (s *Service) sampledRequest(
	ctx context.Context, ws uuid.UUID, w *orchv1.Webhook, create *orchv1.WebhookSampleCreate,
) (*orchv1.WebhookDelivery, error) {
	if (create.DeliveryId == nil) == (create.GetRequest() == nil) {
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, either delivery_id or request is required"))
	}
	if create.DeliveryId != nil {
		d, err := s.delivery(ctx, ws, w.GetId(), create.GetDeliveryId())
		if err != nil {
			return nil, err
		}
		if reason := deliverylog.NotReplayable(d); reason != "" {
			return nil, rpc.Detail(http.StatusConflict, reason)
		}
		return d, nil
	}
	typed := s.draftRequest(create.GetRequest())
	if err := s.addSecrets(ws, w, typed); err != nil {
		return nil, fmt.Errorf("mask the secrets of a sample: %w", err)
	}
	return deliverylog.Of(typed), nil
}

// checkSamples refuses a sample that is stored already. So concurrent creations cannot exceed the bound together, and none outlives its
// webhook.
func (s *Service) checkSamples(ctx context.Context, ws, webhook uuid.UUID) error {
	if _, err := s.webhooks.Get(ctx, ws, webhook); err != nil {
		return translate(err)
	}
	n, err := s.samples.Count(ctx, ws, store.Query{Filter: ofWebhook(webhook), Limit: maxSamples + 1})
	if err != nil {
		return err
	}
	if n > maxSamples {
		return rpc.Detail(http.StatusConflict, fmt.Sprintf("A webhook has at most %d samples.", maxSamples))
	}
	return nil
}
