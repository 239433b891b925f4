package webhooks

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReplaceWebhook replaces a webhook. An absent enabled, service account or anything of its intake stays: clients that
// rename a webhook send none of them, and must not switch it on or strip its authentication by that.
func (s *Service) ReplaceWebhook(ctx context.Context, r *orchv1.ReplaceWebhookRequest) (*emptypb.Empty, error) {
	mask := r.GetUpdateMask().GetPaths()
	var faults []*orchv1.FieldError
	for _, field := range []string{"name", "template"} {
		if !slices.Contains(mask, field) {
			faults = append(faults, rpc.BodyFault("missing", "Field required", field))
		}
	}
	if len(faults) > 0 {
		return nil, rpc.Invalid(faults...)
	}
	replace := r.GetWebhook()
	return s.change(ctx, r.GetId(), replace.GetTemplate(), func(ws uuid.UUID, w *orchv1.Webhook) error {
		w.Name, w.Template = replace.GetName(), replace.GetTemplate()
		w.Description = replace.GetDescription()
		if slices.Contains(mask, "enabled") {
			w.Enabled = replace.GetEnabled()
		}
		if slices.Contains(mask, "service_account_id") {
			w.ServiceAccountId = replace.ServiceAccountId
		}
		return s.setIntake(ws, w, replace, mask)
	})
}

// UpdateWebhook changes what was sent.
func (s *Service) UpdateWebhook(ctx context.Context, r *orchv1.UpdateWebhookRequest) (*emptypb.Empty, error) {
	update := r.GetWebhook()
	return s.change(ctx, r.GetId(), update.GetTemplate(), func(ws uuid.UUID, w *orchv1.Webhook) error {
		for _, field := range r.GetUpdateMask().GetPaths() {
			switch field {
			case "name":
				w.Name = update.GetName()
			case "description":
				w.Description = update.GetDescription()
			case "enabled":
				w.Enabled = update.GetEnabled()
			case "template":
				w.Template = update.GetTemplate()
			case "service_account_id":
				w.ServiceAccountId = update.ServiceAccountId
			}
		}
		return s.setIntake(ws, w, update, r.GetUpdateMask().GetPaths())
	})
}

// change edits a webhook and spreads the change. A template that is not sent is empty and not checked.
func (s *Service) change(ctx context.Context, id, template string, edit func(ws uuid.UUID, w *orchv1.Webhook) error) (*emptypb.Empty, error) {
	if template != "" {
		if err := s.checkTemplate(template); err != nil {
			return nil, err
		}
	}
	if _, err := s.mutate(ctx, id, "updated", edit); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// RotateWebhook gives a webhook a new address; everything else stays.
func (s *Service) RotateWebhook(ctx context.Context, r *orchv1.RotateWebhookRequest) (*orchv1.Webhook, error) {
	slug := newSlug()
	return s.mutate(ctx, r.GetId(), "rotated", func(_ uuid.UUID, w *orchv1.Webhook) error {
		w.Slug = slug
		return nil
	})
}

func (s *Service) mutate(ctx context.Context, id, action string, edit func(ws uuid.UUID, w *orchv1.Webhook) error) (*orchv1.Webhook, error) {
	info, key, err := locate(ctx, id)
	if err != nil {
		return nil, translate(err)
	}
	changed, err := s.webhooks.Mutate(ctx, info.Workspace, key, func(current *orchv1.Webhook, _ int64) (*store.Change[*orchv1.Webhook], error) {
		next := proto.Clone(current).(*orchv1.Webhook)
		if err := edit(info.Workspace, next); err != nil {
			return nil, err
		}
		if err := s.check(ctx, info, current, next); err != nil {
			return nil, err
		}
		if proto.Equal(current, next) {
			return nil, nil
		}
		told, err := s.told(info, info.Workspace, next, action)
		if err != nil {
			return nil, err
		}
		slugs := []string{current.GetSlug()}
		if next.GetSlug() != current.GetSlug() {
			slugs = append(slugs, next.GetSlug())
		}
		return &store.Change[*orchv1.Webhook]{Message: next, Effects: []store.Effect{s.publish(info.Workspace, key, slugs...), told}}, nil
	})
	if err != nil {
		return nil, translate(err)
	}
	s.spread(ctx, key)
	return present(info, changed), s.hide(ctx, changed)
}

// DeleteWebhook deletes a webhook; its address is gone at once.
func (s *Service) DeleteWebhook(ctx context.Context, r *orchv1.DeleteWebhookRequest) (*emptypb.Empty, error) {
	info, id, err := locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	err = s.webhooks.Delete(ctx, info.Workspace, id, func(current *orchv1.Webhook) ([]store.Effect, error) {
		told, err := s.told(info, info.Workspace, current, "deleted")
		return []store.Effect{s.publish(info.Workspace, id, current.GetSlug()), told}, err
	})
	if err != nil {
		return nil, translate(err)
	}
	s.spread(ctx, id)
	s.forget(ctx, info.Workspace, id)
	return &emptypb.Empty{}, nil
}
