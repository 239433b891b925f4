// Package events ingests, stores and queries events.
//
//	POST /events ──────┐
//	outbox of a write ─┼─► broker (durable: the client's 204) ─► persist, in bulk ─┬─► store ─► filter, count
//	webhook ───────────┘                                                           └─► recorder of task runs
//
// Every event is stored once, however often it is delivered. Its key is its workspace and its id; the id alone is the
// key of the document unless another workspace has an event with that id.
package events

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves events.
type Service struct {
	orchv1.UnimplementedEventServiceServer
	events    *store.Collection[*orchv1.ReceivedEvent]
	broker    *broker.Conn
	vocab     vocabulary.Vocabulary
	retention time.Duration
	record    func(context.Context, []Received) error
	records   func(name string) bool
	types     Types
	tracer    *tracing.Tracer
	totals    totalBounds
}

// Deps are the dependencies of the service.
type Deps struct {
	Store      *store.Store
	Broker     *broker.Conn
	Vocabulary vocabulary.Vocabulary
	// Retention is how long events are stored after they were received; 0 stores them forever.
	Retention time.Duration
	// Record receives each batch of events after it is stored, and may be nil. A *broker.Rejected names the events that it
	// can never handle; after any other error the batch is redelivered.
	Record func(ctx context.Context, batch []Received) error
	// Records reports whether Record handles events with a name. The others are stored without a message; nil means none.
	Records func(name string) bool
	// Types observes the events before they are stored; nil observes none.
	Types Types
	// Tracer continues the traces of events; nil is off.
	Tracer *tracing.Tracer
}

// Types observes the names and payloads of events.
type Types interface {
	// Prepare precedes the observation of a batch, and may replace the data of events. The error is an outage; the batch is then redelivered.
	Prepare(ctx context.Context, batch []broker.Event) error
	// Observe observes an event of the batch. The payload is valid until it returns.
	Observe(ws uuid.UUID, name string, payload []byte, received time.Time)
}

// noTypes is for a service without types.
type noTypes struct{}

func (noTypes) Prepare(context.Context, []broker.Event) error { return nil }

func (noTypes) Observe(uuid.UUID, string, []byte, time.Time) {}

// New returns the service.
func New(d Deps) *Service {
	if d.Types == nil {
		d.Types = noTypes{}
	}
	if d.Record == nil {
		d.Record = func(context.Context, []Received) error { return nil }
	}
	if d.Records == nil {
		d.Records = func(string) bool { return false }
	}
	return &Service{
		events:    store.NewCollection(d.Store, query.Event, &orchv1.ReceivedEvent{}, store.ClientIDs),
		broker:    d.Broker,
		vocab:     d.Vocabulary,
		retention: d.Retention,
		record:    d.Record,
		records:   d.Records,
		types:     d.Types,
		tracer:    d.Tracer,
		totals:    totalBounds{indexed: 100_000, tested: 10_000, read: 100_000},
	}
}

// maxHold bounds the wait for credit of a client that sends events faster than they are stored. Beyond it the response is 503.
const maxHold = 15 * time.Second

// CreateEvents publishes the events of a client and responds once all of them are durable, delayed under backpressure;
// see broker.Publisher.PublishPaced.
func (s *Service) CreateEvents(ctx context.Context, r *orchv1.CreateEventsRequest) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	received := s.events.Store().Now()
	receiver := wire.NewReceiver(s.vocab, info.Workspace)
	batch := s.broker.Publisher().NewBatch()
	parent := tracing.ParentOf(ctx)
	var fieldErrors []*orchv1.FieldError
	for i, e := range r.GetEvents() {
		event, found, err := receiver.Take(e, received)
		for _, f := range found {
			fieldErrors = append(fieldErrors, bodyError(i, f))
		}
		if len(found) > 0 {
			continue
		}
		if err == nil {
			event.ContinueFrom(parent)
			err = batch.Add(&event)
		}
		if err != nil {
			return nil, fmt.Errorf("ingest event: %w", err)
		}
	}
	if len(fieldErrors) > 0 {
		return nil, rpc.Invalid(fieldErrors...)
	}
	if err := s.broker.Publisher().PublishPaced(ctx, batch, maxHold); err != nil {
		return nil, fmt.Errorf("ingest %d events: %w", len(r.GetEvents()), err)
	}
	return &emptypb.Empty{}, nil
}

// PublishEffects executes effects of KindPublish.
func (s *Service) PublishEffects(ctx context.Context, effects []store.Effect) error {
	writer := wire.NewWriter(s.vocab)
	batch := s.broker.Publisher().NewBatch()
	for i, effect := range effects {
		ws, event, err := published(effect)
		if err != nil {
			return store.Permanent(err)
		}
		e, err := writer.Write(event, ws)
		if err != nil {
			return store.Permanent(fmt.Errorf("publish event: %w", err))
		}
		e.ContinueFrom(effect.Trace)
		if err := batch.Add(&e); err != nil {
			return fmt.Errorf("event %d of %d: %w", i+1, len(effects), err)
		}
	}
	return s.broker.Publisher().PublishBatch(ctx, batch)
}
