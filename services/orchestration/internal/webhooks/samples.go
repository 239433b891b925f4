package webhooks

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ListWebhookSamples returns the samples of a webhook, by name.
func (s *Service) ListWebhookSamples(ctx context.Context, r *orchv1.ListWebhookSamplesRequest) (*orchv1.WebhookSampleList, error) {
	info, _, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	webhook, err := resourceid.Parse(r.GetId())
	if err != nil {
		return nil, err
	}
	found, err := s.samplesOf(ctx, info.Workspace, webhook)
	for _, sample := range found {
		presentSample(sample)
	}
	return &orchv1.WebhookSampleList{Samples: found}, err
}

func (s *Service) samplesOf(ctx context.Context, ws, webhook uuid.UUID) ([]*orchv1.WebhookSample, error) {
	return s.samples.Find(ctx, ws, store.Query{Filter: ofWebhook(webhook), Sort: bson.D{{Key: "name", Value: 1}}})
}

// ReadWebhookSample returns one sample.
func (s *Service) ReadWebhookSample(ctx context.Context, r *orchv1.ReadWebhookSampleRequest) (*orchv1.WebhookSample, error) {
	info, _, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	sample, _, err := s.sample(ctx, info.Workspace, r.GetId(), r.GetSampleId())
	if err != nil {
		return nil, err
	}
	return presentSample(sample), nil
}

// UpdateWebhookSample renames a sample.
func (s *Service) UpdateWebhookSample(ctx context.Context, r *orchv1.UpdateWebhookSampleRequest) (*emptypb.Empty, error) {
	info, _, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	_, id, err := s.sample(ctx, info.Workspace, r.GetId(), r.GetSampleId())
	if err != nil {
		return nil, err
	}
	_, err = s.samples.Mutate(ctx, info.Workspace, id, store.Edit(func(next *orchv1.WebhookSample) error {
		fieldmask.Apply(next, r.GetSample(), r.GetUpdateMask().GetPaths())
		return nil
	}, nil))
	if isNotFound(err) {
		return nil, errNoSample
	}
	return &emptypb.Empty{}, sampleNameTaken(err)
}

// DeleteWebhookSample deletes a sample.
func (s *Service) DeleteWebhookSample(ctx context.Context, r *orchv1.DeleteWebhookSampleRequest) (*emptypb.Empty, error) {
	info, _, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	_, id, err := s.sample(ctx, info.Workspace, r.GetId(), r.GetSampleId())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.samples.DeleteMany(ctx, info.Workspace, bson.D{{Key: "_id", Value: store.Binary(id)}})
}

// RenderWebhookSample renders the request of a sample, received now, without publishing.
func (s *Service) RenderWebhookSample(ctx context.Context, r *orchv1.RenderWebhookSampleRequest) (*orchv1.WebhookRendering, error) {
	info, w, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	sample, _, err := s.sample(ctx, info.Workspace, r.GetId(), r.GetSampleId())
	if err != nil {
		return nil, err
	}
	d := requestOf(sample)
	d.Received = timestamppb.New(s.samples.Store().Now())
	return s.renderRecorded(ctx, info.Workspace, w, d, r.GetDraft())
}

var errNoSample = rpc.Detail(http.StatusNotFound, "Sample not found")

// sample returns one sample of a webhook, with its parsed id.
func (s *Service) sample(ctx context.Context, ws uuid.UUID, webhook, id string) (*orchv1.WebhookSample, uuid.UUID, error) {
	key, err := resourceid.Parse(id)
	if err != nil {
		return nil, key, errNoSample
	}
	sample, err := s.samples.Get(ctx, ws, key)
	if isNotFound(err) || err == nil && !sameID(sample.GetWebhookId(), webhook) {
		return nil, key, errNoSample
	}
	return sample, key, err
}

// requestOf is a delivery with the request of a sample, and without an outcome.
func requestOf(sample *orchv1.WebhookSample) *orchv1.WebhookDelivery {
	return &orchv1.WebhookDelivery{
		Method: sample.GetMethod(), Path: sample.GetPath(), Query: sample.GetQuery(), Headers: sample.GetHeaders(), RawBody: sample.GetRawBody(),
	}
}

// presentSample sets the computed fields of a sample.
func presentSample(sample *orchv1.WebhookSample) *orchv1.WebhookSample {
	sample.Body = deliverylog.Body(requestOf(sample))
	return sample
}

func sampleNameTaken(err error) error {
	if errors.Is(err, store.ErrDuplicate) {
		return rpc.Detail(http.StatusConflict, "Another sample of the webhook has this name")
	}
	return err
}

// samplesWith returns the ids of the samples of a webhook whose name or request contains a text.
func (s *Service) samplesWith(ctx context.Context, ws, webhook uuid.UUID, text string) ([]uuid.UUID, error) {
	all, err := s.samplesOf(ctx, ws, webhook)
	if err != nil {
		return nil, err
	}
	matches := deliverylog.Containing(text)
	var ids []uuid.UUID
	for _, sample := range all {
		if !matches(requestOf(sample)) && !strings.Contains(strings.ToLower(sample.GetName()), strings.ToLower(text)) {
			continue
		}
		id, err := resourceid.Parse(sample.GetId())
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
