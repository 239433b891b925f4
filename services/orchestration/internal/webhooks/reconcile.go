package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
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
	// compactEvery is the interval between compactions of the bucket, and unusedFor how long the definition of a deleted webhook remains:
	// much longer than a writer can be delayed that would restore the webhook.
	compactEvery = time.Hour
	unusedFor    = 24 * time.Hour
)

// Run reconciles until the context ends.
func (r Reconciler) Run(ctx context.Context) error {
	var compacted time.Time
	for {
		wait := sweepEvery
		err := r.Service.Reconcile(ctx)
		if time.Since(compacted) >= compactEvery { // Also after a failure: the bucket may be full.
			compacted = time.Now()
			err = errors.Join(err, r.Service.compact(ctx))
		}
		if err != nil && ctx.Err() == nil {
			r.Service.log.WarnContext(ctx, "failed to reconcile webhook definitions", "error", err)
			wait = retryEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// published identifies the definition that the bucket has under a key.
type published struct {
	workspace, id string
	revision      int64
	unused        bool
}

// Reconcile makes the bucket equal to the store. It writes the definitions that are missing or differ. It disables those of webhooks that
// the store does not have, such as after a restore. A definition that fails is logged and leaves the others alone.
func (s *Service) Reconcile(ctx context.Context) error {
	found := map[string]published{}
	err := s.definitions.Entries(ctx, func(e broker.Entry) error {
		if _, ofAccount := webhookdef.AccountOf(e.Key); !ofAccount {
			d, _ := webhookdef.Decode(e.Value) // An unreadable definition differs from every webhook.
			found[e.Key] = published{d.GetWorkspace(), d.GetId(), d.GetRevision(), unused(d)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	pass := s.webhooks.Store().Pass(ctx, "write the definition of a webhook")
	err = store.EachRevision(ctx, s.webhooks, store.Query{}, func(one store.Owned[*orchv1.Webhook]) error {
		w := one.Message
		key := webhookdef.Key(w.GetSlug())
		definition := found[key]
		delete(found, key)
		if definition.id == w.GetId() && definition.revision == one.Revision {
			return nil
		}
		return pass.Record(s.rewrite(ctx, key, one.Workspace, w.GetId()), "workspace", one.Workspace, "webhook_id", w.GetId())
	})
	if err != nil {
		return err // It is unknown which definitions the store has.
	}
	for key, definition := range found {
		if definition.unused {
			continue
		}
		ws, err := uuid.Parse(definition.workspace)
		if err == nil {
			err = s.rewrite(ctx, key, ws, definition.id)
		}
		if pass.Record(err, "workspace", definition.workspace, "webhook_id", definition.id) != nil {
			break
		}
	}
	return errors.Join(s.reconcileAccounts(ctx), pass.Outage())
}

// rewrite writes the definition of a webhook under a key, or a disabled one when the webhook has another slug or does not exist.
func (s *Service) rewrite(ctx context.Context, key string, ws uuid.UUID, webhook string) error {
	id, err := uuid.Parse(webhook)
	if err != nil {
		return fmt.Errorf("read the id of a webhook: %w", err)
	}
	return s.definitions.Swap(ctx, key, func([]byte) ([]byte, error) { return s.entry(ctx, ws, id, key) })
}

// unused reports whether a definition is that of a deleted webhook, or of a slug that its webhook no longer has.
func unused(d *orchv1.WebhookDefinition) bool {
	return d.GetId() != "" && !d.GetEnabled() && d.GetName() == "" && d.GetTemplate() == ""
}

// compact removes definitions that have been unused for unusedFor.
func (s *Service) compact(ctx context.Context) error {
	return s.definitions.Compact(ctx, unusedFor, func(value []byte) bool {
		d, err := webhookdef.Decode(value)
		return err == nil && unused(d)
	})
}
