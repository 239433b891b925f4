// Package outbox carries out what writes cause elsewhere.
//
// A write pushes its effects into the document that it changes; the relay does them in order and then pulls them.
//
//	write ── wake(document) ──► queue ──► worker: read outbox ─► do each effect ─► pull ─► more? ─► done
//	                                        ▲                       │ error
//	sweeper: effects older than 5 s ────────┘                       └──► left for the sweeper
//
// One worker at a time carries out a document's effects, so they happen in the order of the writes. After a crash, or
// while the broker is away, effects stay in their documents until a sweep finds them. Every effect can be done twice.
package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Handler carries out effects of one kind: those that stand side by side in one document's outbox, in order.
type Handler func(ctx context.Context, effects []store.Effect) error

const (
	// workers bounds how many documents are worked on at once.
	workers = 16
	// backlog bounds how many documents wait in memory; the sweeper finds those that did not fit.
	backlog = 4096
	// sweepEvery is how often documents left behind are looked for, and sweepAge how old an effect must be to count.
	sweepEvery = 5 * time.Second
	sweepAge   = 5 * time.Second
	// sweepBatch bounds one look.
	sweepBatch = 500
)

// Relay carries out effects.
type Relay struct {
	store       *store.Store
	collections []query.Collection
	handlers    map[string]Handler
	log         *slog.Logger
	queue       chan key

	mu    sync.Mutex
	known map[key]bool // Waiting or at work; true: woken again meanwhile.
}

type key struct {
	collection query.Collection
	id         uuid.UUID
}

// New returns a relay for the documents of these collections.
func New(s *store.Store, collections []query.Collection, handlers map[string]Handler, log *slog.Logger) *Relay {
	return &Relay{
		store:       s,
		collections: collections,
		handlers:    handlers,
		log:         log,
		queue:       make(chan key, backlog),
		known:       map[key]bool{},
	}
}

// Wake says that a document has effects. It never waits.
func (r *Relay) Wake(collection query.Collection, id uuid.UUID) {
	k := key{collection, id}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, waiting := r.known[k]; waiting {
		r.known[k] = true
		return
	}
	select {
	case r.queue <- k:
		r.known[k] = false
	default:
	}
}

// Flush carries out a document's effects before it returns. What fails is left for the sweeper, and the error returned.
func (r *Relay) Flush(ctx context.Context, collection query.Collection, id uuid.UUID) error {
	return r.carryOut(ctx, key{collection, id})
}

// Name implements run.Worker.
func (r *Relay) Name() string { return "outbox relay" }

// Run works until the context ends.
func (r *Relay) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				select {
				case k := <-r.queue:
					r.work(ctx, k)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	group.Wait()
	return nil
}

func (r *Relay) work(ctx context.Context, k key) {
	for {
		if err := r.carryOut(ctx, k); err != nil {
			if ctx.Err() == nil {
				r.log.WarnContext(ctx, "effects wait for the next sweep", "collection", k.collection, "id", k.id, "error", err)
			}
			r.mu.Lock()
			delete(r.known, k)
			r.mu.Unlock()
			return
		}
		r.mu.Lock()
		again := r.known[k]
		if again {
			r.known[k] = false
		} else {
			delete(r.known, k)
		}
		r.mu.Unlock()
		if !again {
			return
		}
	}
}

func (r *Relay) carryOut(ctx context.Context, k key) error {
	pending, err := r.store.Pending(ctx, k.collection, k.id)
	if err != nil {
		return err
	}
	for len(pending) > 0 {
		run := 1
		for run < len(pending) && pending[run].Kind == pending[0].Kind {
			run++
		}
		if pending[0].Kind == store.KindRemove {
			return r.store.Remove(ctx, k.collection, k.id)
		}
		handler, ok := r.handlers[pending[0].Kind]
		if !ok {
			return fmt.Errorf("carry out an effect: nobody handles the kind %q", pending[0].Kind)
		}
		if err := handler(ctx, pending[:run]); err != nil {
			return fmt.Errorf("carry out the effect %q: %w", pending[0].Kind, err)
		}
		if err := r.store.Done(ctx, k.collection, k.id, pending[:run]); err != nil {
			return err
		}
		pending = pending[run:]
	}
	return nil
}

// Sweep wakes the documents whose effects are older than age.
func (r *Relay) Sweep(ctx context.Context, age time.Duration) error {
	for _, collection := range r.collections {
		due, err := r.store.Due(ctx, collection, r.store.Now().Add(-age), sweepBatch)
		if err != nil {
			return err
		}
		for _, id := range due {
			r.Wake(collection, id)
		}
	}
	return nil
}

// Sweeper finds what crashes and outages left behind. Any number of replicas may run it: effects can be done twice.
type Sweeper struct{ Relay *Relay }

// Name implements run.Worker.
func (s Sweeper) Name() string { return "outbox sweeper" }

// Run looks at once, for what the last process left, and then again and again until the context ends.
func (s Sweeper) Run(ctx context.Context) error {
	age := time.Duration(0)
	for {
		if err := s.Relay.Sweep(ctx, age); err != nil && ctx.Err() == nil {
			s.Relay.log.WarnContext(ctx, "the sweep of the outboxes did not finish", "error", err)
		}
		age = sweepAge
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweepEvery):
		}
	}
}
