package webhooks

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Recorder stores the delivery log of the hooks service. Any number of replicas may run it.
type Recorder struct{ Service *Service }

// Name implements run.Worker.
func (r Recorder) Name() string { return "delivery recorder" }

// Run records until the context ends. During a database outage deliveries stay in the broker.
func (r Recorder) Run(ctx context.Context) error {
	return r.Service.journal.Consume(ctx, r.Service.record)
}

// owner is a webhook within its workspace.
type owner struct{ ws, webhook uuid.UUID }

// refusedShare is the part of the log of a webhook that refused requests may have: strangers displace no more of it.
const refusedShare = 5

// record stores the deliveries of the entries once, and deletes the oldest ones of each webhook. It logs and skips entries
// that it cannot decode and deliveries that the database always refuses: they must not delay the others. After any other
// refusal the entries are redelivered; what is stored already is a duplicate.
func (s *Service) record(ctx context.Context, entries [][]byte) error {
	var docs []bson.Raw
	var ids []string
	var traffic []*orchv1.WebhookTraffic
	refusals := map[owner]bool{} // Whether a webhook with new deliveries has refused ones among them.
	for _, entry := range entries {
		batch := &orchv1.WebhookDeliveryBatch{}
		if err := proto.Unmarshal(entry, batch); err != nil {
			s.log.ErrorContext(ctx, "failed to decode deliveries", "error", err)
			continue
		}
		traffic = append(traffic, batch.GetTraffic()...)
		for _, d := range batch.GetDeliveries() {
			webhook, doc, err := s.document(d)
			if err != nil {
				s.log.ErrorContext(ctx, "failed to encode a delivery", "delivery", d.GetId(), "error", err)
				continue
			}
			docs, ids = append(docs, doc), append(ids, d.GetId())
			refusals[webhook] = refusals[webhook] || d.GetRefused()
		}
	}
	_, refused, err := store.InsertEach(ctx, s.deliveries, docs)
	if err != nil {
		return err
	}
	if err := s.skip(ctx, ids, refused); err != nil {
		return err
	}
	pass := s.deliveries.Store().Pass(ctx, "prune deliveries")
	for webhook, refused := range refusals {
		s.recorded(webhook.ws, webhook.webhook)
		if pass.Record(s.prune(ctx, webhook, refused), "workspace", webhook.ws, "webhook_id", webhook.webhook) != nil {
			break
		}
	}
	return cmp.Or(pass.Outage(), s.countTraffic(ctx, traffic))
}

// skip logs the deliveries that the database always refuses. Its error is the first refusal that may pass.
func (s *Service) skip(ctx context.Context, ids []string, refused []store.Refusal) error {
	for _, r := range refused {
		if !store.IsPermanent(r.Err) {
			return fmt.Errorf("store delivery %s: %w", ids[r.Position], r.Err)
		}
		s.log.ErrorContext(ctx, "failed to store a delivery", "delivery", ids[r.Position], "error", r.Err)
	}
	return nil
}

func (s *Service) document(d *orchv1.WebhookDelivery) (owner, bson.Raw, error) {
	var w owner
	var err error
	if w.ws, err = uuid.Parse(d.GetWorkspace()); err != nil {
		return w, nil, fmt.Errorf("parse workspace: %w", err)
	}
	if w.webhook, err = uuid.Parse(d.GetWebhookId()); err != nil {
		return w, nil, fmt.Errorf("parse webhook id: %w", err)
	}
	doc, err := store.NewDocument(w.ws, d, s.webhooks.Store().Now().Add(s.retention))
	return w, doc, err
}

func ofWebhook(webhook uuid.UUID) bson.D {
	return bson.D{{Key: "webhook_id", Value: store.Binary(webhook)}}
}

// prune deletes the deliveries of a webhook beyond the maximum, oldest first, and before them the refused ones beyond their part of it.
func (s *Service) prune(ctx context.Context, w owner, refused bool) error {
	received := func(d *orchv1.WebhookDelivery) time.Time { return d.GetReceived().AsTime() }
	if refused {
		filter := append(ofWebhook(w.webhook), bson.E{Key: "refused", Value: true})
		if err := store.KeepNewest(ctx, s.deliveries, w.ws, filter, "received", received, max(1, s.maxStored/refusedShare)); err != nil {
			return err
		}
	}
	return store.KeepNewest(ctx, s.deliveries, w.ws, ofWebhook(w.webhook), "received", received, s.maxStored)
}

// forget deletes the delivery log and the watch of a deleted webhook. Remaining and later deliveries expire.
func (s *Service) forget(ctx context.Context, ws, webhook uuid.UUID) {
	if err := s.unwatch(ctx, ws, webhook); err != nil {
		s.log.WarnContext(ctx, "failed to delete the watch of a deleted webhook", "webhook_id", webhook, "error", err)
	}
	if err := s.deliveries.DeleteMany(ctx, ws, ofWebhook(webhook)); err != nil {
		s.log.WarnContext(ctx, "failed to delete the deliveries of a deleted webhook; they expire instead", "webhook_id", webhook, "error", err)
	}
}
