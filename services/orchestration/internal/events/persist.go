package events

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Persister is the durable consumer that stores events in bulk.
type Persister struct{ Service *Service }

// Name implements run.Worker.
func (p Persister) Name() string { return "event persister" }

// Run consumes until the context ends. While the database is away events stay in the broker.
func (p Persister) Run(ctx context.Context) error {
	return p.Service.broker.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{}, p.Service.persist)
}

// persist stores a batch. What cannot ever be stored is rejected alone; the others are stored whatever it holds.
func (s *Service) persist(ctx context.Context, batch []broker.Event) error {
	docs := make([]bson.Raw, 0, len(batch))
	var rejected []uuid.UUID
	var reason error
	for _, e := range batch {
		doc, err := s.document(e)
		if err != nil {
			rejected, reason = append(rejected, e.ID), err
			continue
		}
		docs = append(docs, doc)
	}
	if err := s.events.InsertNew(ctx, docs); err != nil {
		return err
	}
	if len(rejected) > 0 {
		return &broker.Rejected{IDs: rejected, Err: reason}
	}
	return nil
}

func (s *Service) document(e broker.Event) (bson.Raw, error) {
	event, ws, err := wire.FromBroker(e)
	if err != nil {
		return nil, err
	}
	wire.Index(s.words, event)
	var expire time.Time
	if s.retention > 0 {
		expire = event.GetReceived().AsTime().Add(s.retention)
	}
	return store.NewDocument(ws, event, expire)
}
