package webhooks

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/catalogue"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Reconciler brings the whole catalogue up to date when the process starts: a broker that lost its data, or was
// replaced, gets all webhooks again. Running it in several replicas is harmless.
type Reconciler struct{ Service *Service }

// Name implements run.Worker.
func (r Reconciler) Name() string { return "webhook catalogue reconciler" }

// retryEvery is how long a failed reconciliation waits.
const retryEvery = 5 * time.Second

// Run reconciles once and then waits for the context's end.
func (r Reconciler) Run(ctx context.Context) error {
	for {
		err := r.Service.Reconcile(ctx)
		if err == nil {
			<-ctx.Done()
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // The end that was asked for.
		}
		r.Service.log.WarnContext(ctx, "the catalogue of webhooks is not complete yet", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryEvery):
		}
	}
}

// Reconcile writes the definition of every webhook whose entry is missing or old.
func (s *Service) Reconcile(ctx context.Context) error {
	return s.webhooks.EachOfAll(ctx, func(ws uuid.UUID, revision int64, w *orchv1.Webhook) error {
		id, err := uuid.Parse(w.GetId())
		if err != nil {
			return err
		}
		key := catalogue.Key(w.GetSlug())
		return s.catalogue.Swap(ctx, key, func(current []byte) ([]byte, error) {
			if known, err := catalogue.Decode(current); err == nil && known.GetId() == w.GetId() && known.GetRevision() >= revision {
				return nil, nil
			}
			return s.entry(ctx, ws, id, key)
		})
	})
}
