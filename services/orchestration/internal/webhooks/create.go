package webhooks

import (
	"context"

	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// CreateWebhook stores a webhook with a new slug.
func (s *Service) CreateWebhook(ctx context.Context, r *orchv1.CreateWebhookRequest) (*orchv1.Webhook, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	create := r.GetWebhook()
	if err := s.checkTemplate(create.GetTemplate()); err != nil {
		return nil, err
	}
	id := s.webhooks.Store().NewID()
	w := &orchv1.Webhook{
		Id:               id.String(),
		Account:          info.Account.String(),
		Name:             create.GetName(),
		Description:      create.GetDescription(),
		Enabled:          create.GetEnabled(),
		Template:         create.GetTemplate(),
		ServiceAccountId: create.ServiceAccountId,
		MaxSilence:       create.MaxSilence,
		Slug:             newSlug(),
	}
	if err := s.setIngestion(info.Workspace, w, create, ingestionFields); err != nil {
		return nil, err
	}
	if err := s.check(ctx, info, nil, w); err != nil {
		return nil, err
	}
	if err := s.claimName(ctx, info.Workspace, nil, w); err != nil {
		return nil, err
	}
	audited, err := s.audited(info, info.Workspace, w, "created")
	if err != nil {
		return nil, err
	}
	end, err := s.quotas.Begin(ctx, info.Account, quota.Webhooks)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := s.webhooks.Insert(ctx, info.Workspace, w, s.publish(info.Workspace, id, w.GetSlug()), audited); err != nil {
		return nil, s.nameTaken(err)
	}
	s.flush.Flush(ctx, query.Webhook, info.Workspace, id)
	return present(info, w), s.hide(ctx, w)
}
