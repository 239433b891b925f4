package webhooks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindDefinition is the effect that updates entries of the definition bucket.
const KindDefinition = "webhook_definition"

// publish returns the effect that updates the entries of slugs. Its body is the workspace, the webhook's id and the
// keys. The handler reads the definition on execution, so a delayed effect writes nothing outdated.
func (s *Service) publish(ws, id uuid.UUID, slugs ...string) store.Effect {
	keys := make([]string, len(slugs))
	for i, slug := range slugs {
		keys[i] = webhookdef.Key(slug)
	}
	body := append(append([]byte(nil), ws[:]...), id[:]...)
	st := s.webhooks.Store()
	return store.Effect{ID: st.NewID(), At: st.Now(), Kind: KindDefinition, Body: append(body, strings.Join(keys, " ")...)}
}

// Publish executes effects of KindDefinition.
func (s *Service) Publish(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		if len(e.Body) < 32 {
			return store.Permanent(fmt.Errorf("decode effect: %d bytes are not two ids and keys", len(e.Body)))
		}
		ws, id := uuid.UUID(e.Body[:16]), uuid.UUID(e.Body[16:32])
		if err := s.settle(ctx, ws, id); err != nil {
			return fmt.Errorf("check webhook after write: %w", err)
		}
		for _, key := range strings.Fields(string(e.Body[32:])) {
			err := s.definitions.Swap(ctx, key, func([]byte) ([]byte, error) { return s.entry(ctx, ws, id, key) })
			if err != nil {
				return fmt.Errorf("update webhook definition: %w", err)
			}
		}
	}
	return nil
}

// entry returns the bucket entry of a key. Swap reads the store after the entry that it replaces, so the last writer
// writes the current state. An unused key keeps a disabled definition for a day: if it were deleted at once, a delayed writer could
// restore the old definition.
func (s *Service) entry(ctx context.Context, ws, id uuid.UUID, key string) ([]byte, error) {
	w, revision, err := store.GetRevision(ctx, s.webhooks, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return webhookdef.Encode(&orchv1.WebhookDefinition{
			Id: id.String(), Account: uuid.Nil.String(), Workspace: ws.String(), Revision: math.MaxInt64,
		})
	}
	if err != nil {
		return nil, err
	}
	if webhookdef.Key(w.GetSlug()) != key {
		return webhookdef.Encode(&orchv1.WebhookDefinition{Id: id.String(), Account: w.GetAccount(), Workspace: ws.String(), Revision: revision})
	}
	definition := definitionOf(ws, w)
	definition.Revision = revision
	if open(w) {
		forbidden, err := s.enforced(ctx, w)
		if err != nil {
			return nil, err
		}
		definition.Enabled = !forbidden
	}
	return webhookdef.Encode(definition)
}

// definitionOf returns what the hooks service knows of a webhook, without its revision. Replays and renderings use it too, so
// they process a request by the settings of the hooks service.
func definitionOf(ws uuid.UUID, w *orchv1.Webhook) *orchv1.WebhookDefinition {
	return &orchv1.WebhookDefinition{
		Id: w.GetId(), Account: w.GetAccount(), Workspace: ws.String(), Name: w.GetName(), Template: w.GetTemplate(), Enabled: w.GetEnabled(),
		ServiceAccountId: w.ServiceAccountId, Verification: w.GetVerification(), Deduplication: deduplication(w).Enum(),
		Handshakes: w.GetHandshakes(), Undefined: undefinedOf(w).Enum(), Methods: w.GetMethods(), RateLimit: w.GetRateLimit(),
		AllowedIps: w.GetAllowedIps(), SealedSecrets: w.GetSealedSecrets(), SealedVerifyToken: w.SealedVerifyToken,
		Filter: w.Filter, FilterError: filterErrorOf(w).Enum(), Response: w.Response,
	}
}
