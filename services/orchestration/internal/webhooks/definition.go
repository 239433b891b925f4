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

// publish is the effect that brings the entries of some slugs up to date. Its body is the workspace, the webhook's id
// and the keys; the definition is read when it is executed, so that an effect that comes late writes nothing old.
func (s *Service) publish(ws, id uuid.UUID, slugs ...string) store.Effect {
	keys := make([]string, len(slugs))
	for i, slug := range slugs {
		keys[i] = webhookdef.Key(slug)
	}
	body := append(append([]byte(nil), ws[:]...), id[:]...)
	of := s.webhooks.Store()
	return store.Effect{ID: of.NewID(), At: of.Now(), Kind: KindDefinition, Body: append(body, strings.Join(keys, " ")...)}
}

// Publish executes effects of KindCatalogue.
func (s *Service) Publish(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		if len(e.Body) < 32 {
			return store.Permanent(fmt.Errorf("decode effect: %d bytes name no webhook", len(e.Body)))
		}
		ws, id := uuid.UUID(e.Body[:16]), uuid.UUID(e.Body[16:32])
		if err := s.settle(ctx, ws, id); err != nil {
			return fmt.Errorf("look at a webhook again: %w", err)
		}
		for _, key := range strings.Fields(string(e.Body[32:])) {
			err := s.definitions.Swap(ctx, key, func([]byte) ([]byte, error) { return s.entry(ctx, ws, id, key) })
			if err != nil {
				return fmt.Errorf("bring the catalogue up to date: %w", err)
			}
		}
	}
	return nil
}

// entry is what the definition bucket must hold under a key. The store is read after the entry that is replaced, so whoever
// writes last writes what is true. A key that is nobody's any more keeps a disabled definition: were it removed, a
// writer that was held up could bring the old one back.
func (s *Service) entry(ctx context.Context, ws, id uuid.UUID, key string) ([]byte, error) {
	w, revision, err := s.webhooks.GetRevision(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return webhookdef.Encode(&orchv1.WebhookDefinition{
			Id: id.String(), Account: uuid.Nil.String(), Workspace: ws.String(), Revision: math.MaxInt64,
		})
	}
	if err != nil {
		return nil, err
	}
	definition := &orchv1.WebhookDefinition{Id: id.String(), Account: w.GetAccount(), Workspace: ws.String(), Revision: revision}
	if webhookdef.Key(w.GetSlug()) == key {
		definition.Name = w.GetName()
		definition.Template = w.GetTemplate()
		definition.Enabled = w.GetEnabled()
		if open(w) {
			forbidden, err := s.enforced(ctx, w)
			if err != nil {
				return nil, err
			}
			definition.Enabled = !forbidden
		}
		definition.ServiceAccountId = w.ServiceAccountId
		definition.Verification = w.GetVerification()
		definition.Deduplication = deduplication(w).Enum()
		definition.Handshakes = w.GetHandshakes()
		definition.RateLimit = w.GetRateLimit()
		definition.AllowedIps = w.GetAllowedIps()
		definition.SealedSecrets = w.GetSealedSecrets()
		definition.SealedVerifyToken = w.SealedVerifyToken
	}
	return webhookdef.Encode(definition)
}
