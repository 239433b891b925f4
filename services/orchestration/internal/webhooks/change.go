package webhooks

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReplaceWebhook replaces a webhook. Absent enabled, service_account_id and ingestion fields are unchanged: clients
// that only rename a webhook omit them, and must neither enable it nor remove its authentication.
func (s *Service) ReplaceWebhook(ctx context.Context, r *orchv1.ReplaceWebhookRequest) (*emptypb.Empty, error) {
	mask := r.GetUpdateMask().GetPaths()
	var fieldErrors []*orchv1.FieldError
	for _, field := range []string{"name", "template"} {
		if !slices.Contains(mask, field) {
			fieldErrors = append(fieldErrors, rpc.BodyError("missing", "Field required", field))
		}
	}
	if len(fieldErrors) > 0 {
		return nil, rpc.Invalid(fieldErrors...)
	}
	replace := r.GetWebhook()
	return s.change(ctx, r.GetId(), replace.GetTemplate(), func(ws uuid.UUID, w *orchv1.Webhook) error {
		w.Description = "" // The only field that is reset when absent.
		fieldmask.Apply(w, replace, ownFields(mask))
		return s.setIngestion(ws, w, replace, mask)
	})
}

// UpdateWebhook changes the sent fields.
func (s *Service) UpdateWebhook(ctx context.Context, r *orchv1.UpdateWebhookRequest) (*emptypb.Empty, error) {
	update := r.GetWebhook()
	return s.change(ctx, r.GetId(), update.GetTemplate(), func(ws uuid.UUID, w *orchv1.Webhook) error {
		fieldmask.Apply(w, update, ownFields(r.GetUpdateMask().GetPaths()))
		return s.setIngestion(ws, w, update, r.GetUpdateMask().GetPaths())
	})
}

// ownFields removes the ingestion fields from a mask; setIngestion applies those.
func ownFields(mask []string) []string {
	return slices.DeleteFunc(slices.Clone(mask), func(field string) bool { return slices.Contains(ingestionFields, field) })
}

// change edits a webhook and publishes the change. An empty template means that it was not sent; it is not checked.
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

// RotateWebhook generates a new slug; everything else is unchanged.
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
	checked := func(next *orchv1.Webhook) error {
		before := proto.CloneOf(next)
		if err := edit(info.Workspace, next); err != nil {
			return err
		}
		if err := s.check(ctx, info, before, next); err != nil {
			return err
		}
		return s.claimName(ctx, info.Workspace, before, next)
	}
	changed, err := s.webhooks.Mutate(ctx, info.Workspace, key, store.Edit(checked, func(current, next *orchv1.Webhook) ([]store.Effect, error) {
		audited, err := s.audited(info, info.Workspace, next, action)
		slugs := []string{current.GetSlug()}
		if next.GetSlug() != current.GetSlug() {
			slugs = append(slugs, next.GetSlug())
		}
		return []store.Effect{s.publish(info.Workspace, key, slugs...), audited}, err
	}))
	if err != nil {
		return nil, translate(s.nameTaken(err))
	}
	s.flush.Flush(ctx, query.Webhook, info.Workspace, key)
	return present(info, changed), s.hide(ctx, changed)
}

// DeleteWebhook deletes a webhook; its address stops working before the response.
func (s *Service) DeleteWebhook(ctx context.Context, r *orchv1.DeleteWebhookRequest) (*emptypb.Empty, error) {
	info, id, err := locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	err = s.webhooks.Delete(ctx, info.Workspace, id, func(current *orchv1.Webhook) ([]store.Effect, error) {
		audited, err := s.audited(info, info.Workspace, current, "deleted")
		return []store.Effect{s.publish(info.Workspace, id, current.GetSlug()), audited}, err
	})
	if err != nil {
		return nil, translate(err)
	}
	s.flush.Flush(ctx, query.Webhook, info.Workspace, id)
	s.forget(ctx, info.Workspace, id)
	return &emptypb.Empty{}, nil
}
