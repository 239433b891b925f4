package webhooks

import (
	"context"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
)

// ReadWebhook returns a webhook.
func (s *Service) ReadWebhook(ctx context.Context, r *orchv1.ReadWebhookRequest) (*orchv1.Webhook, error) {
	info, id, err := locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	w, err := s.webhooks.Get(ctx, info.Workspace, id)
	if err != nil {
		return nil, translate(err)
	}
	if err := s.addHealth(ctx, info.Workspace, w); err != nil {
		return nil, err
	}
	present(info, w)
	if err := s.maskAddresses(ctx, info, w); err != nil {
		return nil, err
	}
	return w, s.hide(ctx, w)
}

// ListWebhooks returns the webhooks by name: all of them, or those with one name.
func (s *Service) ListWebhooks(ctx context.Context, r *orchv1.ListWebhooksRequest) (*orchv1.WebhookList, error) {
	q := &orchv1.WebhookQuery{}
	if r.Name != nil {
		q.Webhooks = &orchv1.WebhookFilter{Name: &orchv1.NameFilter{Any_: &orchv1.StringList{Values: []string{r.GetName()}}}}
	}
	return s.list(ctx, q, r)
}

// ReadWebhooks returns the matching webhooks.
func (s *Service) ReadWebhooks(ctx context.Context, r *orchv1.ReadWebhooksRequest) (*orchv1.WebhookList, error) {
	return s.list(ctx, r.GetQuery(), r.GetQuery())
}

func (s *Service) list(ctx context.Context, q *orchv1.WebhookQuery, page pagination.Query) (*orchv1.WebhookList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.source.List(ctx, q, q.GetSort(), page)
	if err != nil {
		return nil, err
	}
	if err := s.addHealth(ctx, info.Workspace, found...); err != nil {
		return nil, err
	}
	for _, w := range found {
		present(info, w)
	}
	if err := s.maskAddresses(ctx, info, found...); err != nil {
		return nil, err
	}
	return &orchv1.WebhookList{Webhooks: found}, s.hide(ctx, found...)
}

// maskAddresses masks the addresses of webhooks for callers who may not read them. Responses to changes need no mask: who
// may change a webhook may read its address.
func (s *Service) maskAddresses(ctx context.Context, info request.Info, webhooks ...*orchv1.Webhook) error {
	scopes, err := s.tenancy.WorkspaceScopes(ctx, info, info.Workspace)
	if err != nil || scopes.Has("read_webhook_addresses") {
		return err
	}
	for _, w := range webhooks {
		w.Slug = webhookdef.MaskedSlug
		w.Url = info.HooksURL + "/" + webhookdef.MaskedSlug
	}
	return nil
}

// CountWebhooks counts the matching webhooks.
func (s *Service) CountWebhooks(ctx context.Context, r *orchv1.CountWebhooksRequest) (*orchv1.CountResponse, error) {
	return s.source.Count(ctx, r.GetQuery())
}
