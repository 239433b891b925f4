package events

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxBatch is how many events are stored with one flush at the most: at their fastest several frames come in one pace.
	maxBatch = 2000
	// pace keeps the flushes of stored events from crowding out those that callers wait for.
	pace = 20 * time.Millisecond
	// yield lets bursts be acknowledged first: storing an event costs many times what taking it in does, and nobody
	// waits for it.
	yield = 500 * time.Millisecond
)

// Persister is the durable consumer that stores events in bulk.
type Persister struct{ Service *Service }

// Name implements run.Worker.
func (p Persister) Name() string { return "event persister" }

// Run consumes until the context ends. While the database is away events stay in the broker.
func (p Persister) Run(ctx context.Context) error {
	return p.Service.broker.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{MaxEvents: maxBatch, Pace: pace, Yield: yield}, p.Service.persist)
}

// Received is an event that was taken in, and the workspace that it is of.
type Received struct {
	Workspace uuid.UUID
	Event     *orchv1.ReceivedEvent
}

// persist stores a batch. What cannot ever be stored is rejected alone; the others are stored whatever it holds.
func (s *Service) persist(ctx context.Context, batch []broker.Event) error {
	// By ids, most of which are made by time: a store takes what lies above all that it has most easily.
	slices.SortFunc(batch, func(a, b broker.Event) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	docs := make([]store.Chosen, 0, len(batch))
	stored := make([]Received, 0, len(batch))
	rejected := &broker.Rejected{}
	for _, e := range batch {
		event, ws, err := wire.FromBroker(e)
		var doc bson.Raw
		if err == nil {
			doc, err = s.document(ws, event)
		}
		if err != nil {
			rejected.Reject(e.Key(), err)
			continue
		}
		docs, stored = append(docs, store.Chosen{Workspace: ws, ID: e.ID, Doc: doc}), append(stored, Received{ws, event})
	}
	if err := s.events.InsertChosen(ctx, docs); err != nil {
		return err
	}
	if err := s.record(ctx, stored); err != nil {
		var refused *broker.Rejected
		if !errors.As(err, &refused) {
			return err
		}
		rejected.Merge(refused)
	}
	return rejected.Err()
}

func (s *Service) document(ws uuid.UUID, event *orchv1.ReceivedEvent) (bson.Raw, error) {
	wire.Index(s.vocab, event)
	var expire time.Time
	if s.retention > 0 {
		expire = event.GetReceived().AsTime().Add(s.retention)
	}
	return store.NewDocument(ws, event, expire)
}
