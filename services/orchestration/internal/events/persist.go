package events

import (
	"bytes"
	"context"
	"runtime"
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
	// maxBatch is the maximum number of events of one flush: at the highest rate several frames arrive in one flush
	// interval.
	maxBatch = 2000
	// pace is the minimum flush interval. It leaves disk flushes for the writes that callers wait for.
	pace = 20 * time.Millisecond
	// yield delays storing during bursts, so the broker can acknowledge them first. Storing an event costs many times
	// as much as publishing it, and no caller waits for it.
	yield = 500 * time.Millisecond
	// yieldAfter is the number of events after which other goroutines run. The scheduler preempts only after ten milliseconds,
	// and on few processors the requests that wait for their acknowledgements would wait so long.
	yieldAfter = 64
)

// backoff is the redelivery delay of a batch with an event that was refused for a reason which may pass.
var backoff = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute}

// Persister is the durable consumer that stores events in bulk.
type Persister struct{ Service *Service }

// Name implements run.Worker.
func (p Persister) Name() string { return "event persister" }

// Run consumes until the context ends. During a database outage events stay in the broker.
func (p Persister) Run(ctx context.Context) error {
	opts := broker.ConsumeOptions{MaxEvents: maxBatch, Pace: pace, Yield: yield, ReuseMemory: true, Backoff: backoff}
	return p.Service.broker.Consume(ctx, broker.DurablePersist, opts, newPersistence(p.Service).persist)
}

// Received is an ingested event with its workspace.
type Received struct {
	Workspace uuid.UUID
	Event     *orchv1.ReceivedEvent
}

// persist stores a batch. It rejects each event that can never be stored or recorded, with the event's own reason, and stores
// all others. In an outage the whole batch is redelivered.
func (p *persistence) persist(ctx context.Context, batch []broker.Event) error {
	ctx, spans := broker.ContinueTraces(ctx, p.service.tracer, "persist event", batch)
	err := p.store(ctx, batch)
	spans.End(err)
	return err
}

func (p *persistence) store(ctx context.Context, batch []broker.Event) error {
	s := p.service
	if err := s.types.Prepare(ctx, batch); err != nil {
		return err
	}
	// Sort by id: most ids ascend with time, and a store inserts ascending keys most cheaply.
	slices.SortFunc(batch, func(a, b broker.Event) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	p.docs.reset()
	docs := make([]store.ClientDocument, 0, len(batch))
	events := make([]persisted, 0, len(batch))
	rejected := &broker.Rejected{}
	for i := range batch {
		if i%yieldAfter == yieldAfter-1 {
			runtime.Gosched()
		}
		e := &batch[i]
		doc, event, err := p.document(e)
		if err != nil {
			rejected.Reject(e.Key(), err)
			continue
		}
		docs = append(docs, store.ClientDocument{Workspace: e.Workspace, ID: e.ID, Doc: doc})
		events = append(events, persisted{e.Key(), event})
	}
	refused, err := store.InsertClientIDs(ctx, s.events, docs)
	if err != nil {
		p.docs = documents{} // A command that nobody waits for may still read them.
		return err
	}
	if err := p.settle(ctx, events, refused, rejected); err != nil {
		return err
	}
	for _, e := range batch { // None of them is redelivered.
		delete(p.refusals, e.Key())
	}
	return rejected.Err()
}

// persisted is an event of a batch.
type persisted struct {
	key   broker.Key
	event *orchv1.ReceivedEvent // Nil when nothing records the event.
}

// document returns the stored form of an event, which is valid until the next batch, and its message for the recorder.
func (p *persistence) document(e *broker.Event) (bson.Raw, *orchv1.ReceivedEvent, error) {
	s := p.service
	if !s.records(e.Type) && p.encoded.read(e, s.vocab.ResourceID()) {
		s.types.Observe(e.Workspace, e.Type, p.encoded.payload, p.encoded.received)
		return p.docs.addEncoded(s, &p.encoded, e), nil, nil
	}
	event, ws, err := wire.FromBroker(*e)
	if err != nil {
		return nil, nil, err
	}
	s.types.Observe(ws, event.GetEvent(), event.GetPayload(), event.GetReceived().AsTime())
	doc, err := p.docs.add(s, ws, event)
	return doc, event, err
}

// documents are the stored forms of the events of one batch after another, in memory that is reused.
type documents struct{ memory []byte }

// maxDocuments bounds the memory that is reused, in bytes.
const maxDocuments = 4 << 20

// reset discards the documents. The store no longer uses them when it has inserted them.
func (d *documents) reset() {
	d.memory = d.memory[:0]
	if cap(d.memory) > maxDocuments {
		d.memory = nil
	}
}

// add encodes an event. The document is valid until reset.
func (d *documents) add(s *Service, ws uuid.UUID, event *orchv1.ReceivedEvent) (bson.Raw, error) {
	wire.Index(s.vocab, event)
	memory, err := store.AppendDocument(d.memory, ws, event, s.expiry(event.GetReceived().AsTime()))
	if err != nil {
		return nil, err
	}
	return d.grown(memory), nil
}

// addEncoded is add for an event without a message.
func (d *documents) addEncoded(s *Service, e *encodedEvent, b *broker.Event) bson.Raw {
	return d.grown(store.AppendEncoded(d.memory, b.Workspace, s.expiry(e.received), func(dst []byte) []byte {
		return e.appendFields(dst, b)
	}))
}

// grown returns the document that was appended to the memory. A larger memory leaves the earlier documents where they are.
func (d *documents) grown(memory []byte) bson.Raw {
	start := len(d.memory)
	d.memory = memory
	return bson.Raw(memory[start:len(memory):len(memory)])
}
