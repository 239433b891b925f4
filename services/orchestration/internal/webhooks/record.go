package webhooks

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Recorder stores the deliveries that the hooks service notes. Any number of replicas may run it.
type Recorder struct{ Service *Service }

// Name implements run.Worker.
func (r Recorder) Name() string { return "delivery recorder" }

// Run records until the context ends. While the database is away deliveries stay in the broker.
func (r Recorder) Run(ctx context.Context) error {
	return r.Service.journal.Consume(ctx, r.Service.record)
}

// owner is a webhook within its workspace.
type owner struct{ ws, webhook uuid.UUID }

// record stores what the entries hold, each delivery once, and forgets the oldest of each webhook. What cannot be read
// never can be, and is passed over.
func (s *Service) record(ctx context.Context, entries [][]byte) error {
	var docs []bson.Raw
	owners := map[owner]bool{}
	for _, entry := range entries {
		batch := &orchv1.WebhookDeliveryBatch{}
		if err := proto.Unmarshal(entry, batch); err != nil {
			s.log.ErrorContext(ctx, "reading deliveries", "error", err)
			continue
		}
		for _, d := range batch.GetDeliveries() {
			of, doc, err := s.document(d)
			if err != nil {
				s.log.ErrorContext(ctx, "reading a delivery", "delivery", d.GetId(), "error", err)
				continue
			}
			docs = append(docs, doc)
			owners[of] = true
		}
	}
	if err := s.deliveries.InsertNew(ctx, docs); err != nil {
		return err
	}
	for of := range owners {
		if err := s.prune(ctx, of); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) document(d *orchv1.WebhookDelivery) (owner, bson.Raw, error) {
	var of owner
	var err error
	if of.ws, err = uuid.Parse(d.GetWorkspace()); err != nil {
		return of, nil, fmt.Errorf("read its workspace: %w", err)
	}
	if of.webhook, err = uuid.Parse(d.GetWebhookId()); err != nil {
		return of, nil, fmt.Errorf("read its webhook: %w", err)
	}
	doc, err := store.NewDocument(of.ws, d, s.webhooks.Store().Now().Add(s.retention))
	return of, doc, err
}

func deliveriesOf(webhook uuid.UUID) bson.D {
	return bson.D{{Key: "webhook_id", Value: store.Binary(webhook)}}
}

// prune removes the deliveries of a webhook that are too many, oldest first.
func (s *Service) prune(ctx context.Context, of owner) error {
	newestFirst := bson.D{{Key: "received", Value: -1}, {Key: "_id", Value: -1}}
	beyond, err := s.deliveries.Find(ctx, of.ws, deliveriesOf(of.webhook), newestFirst, s.kept, 1)
	if err != nil || len(beyond) == 0 {
		return err
	}
	last := beyond[0].GetReceived().AsTime().UnixMicro()
	return s.deliveries.DeleteMany(ctx, of.ws, append(deliveriesOf(of.webhook), bson.E{Key: "received", Value: bson.D{{Key: "$lte", Value: last}}}))
}

// forget removes the log of a webhook that was deleted. What is left, or still comes, expires.
func (s *Service) forget(ctx context.Context, ws, webhook uuid.UUID) {
	if err := s.deliveries.DeleteMany(ctx, ws, deliveriesOf(webhook)); err != nil {
		s.log.WarnContext(ctx, "the deliveries of a deleted webhook expire later", "webhook_id", webhook, "error", err)
	}
}
