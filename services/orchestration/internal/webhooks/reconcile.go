package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Reconciler makes the definition bucket equal to the store at the start, so a broker that lost its data or was
// replaced receives all webhooks again. It runs again periodically, for changes that the effects missed. Running it
// in several replicas is harmless.
type Reconciler struct{ Service *Service }

// Name implements run.Worker.
func (r Reconciler) Name() string { return "webhook definition reconciler" }

const (
	// sweepEvery is the interval between comparisons of the bucket with the store, and retryEvery the delay after a
	// failed one.
	sweepEvery = time.Minute
	retryEvery = 5 * time.Second
)

// Run reconciles until the context ends.
func (r Reconciler) Run(ctx context.Context) error {
	for {
		wait := sweepEvery
		if err := r.Service.Reconcile(ctx); err != nil && ctx.Err() == nil {
			r.Service.log.WarnContext(ctx, "reconcile webhook definitions", "error", err)
			wait = retryEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// Reconcile writes the definition of every webhook and every account whose entry is missing or outdated. A definition that fails is
// logged and leaves the others alone.
func (s *Service) Reconcile(ctx context.Context) error {
	pass := s.webhooks.Store().Pass(ctx, "write the definition of a webhook")
	err := s.webhooks.EachOfAll(ctx, func(ws uuid.UUID, revision int64, w *orchv1.Webhook) error {
		return pass.Record(s.reconcile(ctx, ws, revision, w), "workspace", ws, "webhook_id", w.GetId())
	})
	return errors.Join(s.reconcileAccounts(ctx), err, pass.Outage())
}

func (s *Service) reconcile(ctx context.Context, ws uuid.UUID, revision int64, w *orchv1.Webhook) error {
	id, err := uuid.Parse(w.GetId())
	if err != nil {
		return fmt.Errorf("read the id of a webhook: %w", err)
	}
	key := webhookdef.Key(w.GetSlug())
	return s.definitions.Swap(ctx, key, func(current []byte) ([]byte, error) {
		if replaced, err := webhookdef.Decode(current); err == nil && replaced.GetId() == w.GetId() && replaced.GetRevision() >= revision {
			return nil, nil
		}
		return s.entry(ctx, ws, id, key)
	})
}
