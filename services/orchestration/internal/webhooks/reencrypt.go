package webhooks

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Reencrypt encrypts the secrets of every webhook with the first key, where another one did, and publishes its definition;
// without write it only examines. Reencrypt calls done for each webhook, also after a failure.
func (s *Service) Reencrypt(ctx context.Context, write bool, done func(changed bool, err error) error) error {
	return s.webhooks.EachAcross(ctx, store.Query{}, func(ws uuid.UUID, w *orchv1.Webhook) error {
		if len(w.GetSealedSecrets()) == 0 && w.SealedVerifyToken == nil {
			return nil
		}
		id, err := resourceid.Parse(w.GetId())
		if err != nil {
			return done(false, err)
		}
		if !write {
			next := proto.CloneOf(w)
			err := webhookdef.Reseal(s.secrets, ws, id, next)
			return done(err != nil || !proto.Equal(w, next), nil)
		}
		changed, err := s.webhooks.Mutate(ctx, ws, id, store.Edit(
			func(next *orchv1.Webhook) error { return webhookdef.Reseal(s.secrets, ws, id, next) },
			func(_, next *orchv1.Webhook) ([]store.Effect, error) {
				return []store.Effect{s.publish(ws, id, next.GetSlug())}, nil
			},
		))
		return done(err == nil && !proto.Equal(w, changed), err)
	})
}
