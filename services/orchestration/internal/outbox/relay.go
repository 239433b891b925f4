// Package outbox executes what writes cause elsewhere.
//
// A write pushes its effects into the document that it changes. The relay executes them in order and then pulls them.
//
//	write ── Wake(document, effects) ──► queue ──► worker: execute ──► done: pull ──► more? ──► forget
//	                                       ▲                │
//	sweeper: effects older than 5 s ───────┤                ├─ retry: attempts + 1, next_at ──► sweeper
//	                                       │                ├─ outage: stays, its kind is suspended ──► sweeper
//	sweeper: next_at is over ──────────────┤                └─ permanent: dead letter, then the effects behind it
//	sweeper: times of the future ──────────┘
//
// One worker at a time executes a document's effects, so they happen in the order of the writes. A worker takes all queued documents, at a
// bounded rate unless they fill a batch: it reads their outboxes with one command, executes effects together whose handlers allow that, and
// pulls them with one command. So an idle server adds no delay, and a busy one shares round trips and syncs. After a crash, or while the broker is unreachable, effects stay in their documents until a sweep finds them.
// Every effect is idempotent.
//
// An attempt ends in one of three ways:
//
//   - Done. The effect leaves the outbox.
//   - Retry: anything but a permanent failure. The document records attempts and the time of the next one, which grows
//     exponentially with jitter up to maxBackoff. After maxAttempts the failure counts as permanent. Outages of store and broker do
//     not count as attempts, unless store and broker respond to others: see suspension.
//   - Permanent: no handler, undecodable, too large, refused. The effect becomes a dead letter and the effects behind it go
//     on, unless its handler is Blocking: then the document waits until the dead letter is retried or discarded.
package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// workers bounds the batches executed at once. Few, so that documents gather while all are busy; more than one, so that
	// a slow effect does not hold up the others.
	workers = 4
	// batchSize bounds the documents of a batch, and pace is the least time between two batches that are not full.
	batchSize = 128
	pace      = 20 * time.Millisecond
	// backlog bounds the documents queued in memory; the sweeper finds documents that did not fit.
	backlog = 4096
)

// Config is what a relay works with.
type Config struct {
	Store *store.Store
	// Collections are those whose documents have effects.
	Collections []query.Collection
	Handlers    *Mux
	// Secrets encrypt the bodies of dead letters.
	Secrets secrets.Keyring
	// Retention is how long a dead letter is stored after its last failure; 0 stores it until it is retried or discarded. Dead
	// letters that block their documents do not expire.
	Retention time.Duration
	// Broker reports whether the broker takes events; nil means unknown. An effect that meets an outage of it while it does counts the
	// attempt.
	Broker func(ctx context.Context) error
	// Metrics may be nil.
	Metrics prometheus.Registerer
	// Random returns numbers in [0, 1), the jitter of retries; nil means the runtime's source.
	Random func() float64
	// Tracer continues the traces of writes; nil is off.
	Tracer *tracing.Tracer
	Log    *slog.Logger
}

// Relay executes effects.
type Relay struct {
	store       *store.Store
	collections []query.Collection
	handlers    *Mux
	secrets     secrets.Keyring
	retention   time.Duration
	broker      func(ctx context.Context) error
	metrics     metrics
	random      func() float64
	tracer      *tracing.Tracer
	log         *slog.Logger
	queue       chan key
	resumed     chan struct{} // Gets a value when an outage ends.

	// swept is the time of the last effect of each collection that a sweep reached, if it left others behind it. It belongs to the
	// sweeper.
	swept map[query.Collection]time.Time

	turn sync.Mutex // Held by the worker that takes documents.
	last time.Time  // When one took any; guarded by turn.

	mu      sync.Mutex
	pending map[key]*work // Queued or being executed.
	// settled are closed when a document is no longer pending.
	settled   map[key][]chan struct{}
	suspended map[string]*suspension // By kind.
	// executing are the documents whose effects a worker or a caller of Flush executes now; closed when it is done.
	executing map[key]chan struct{}
}

type key struct {
	collection query.Collection
	id         uuid.UUID
}

// work is what is to be executed for a document.
type work struct {
	ws      uuid.UUID // The workspace of the document; nil if unknown.
	woken   bool      // The outbox may hold effects that no worker has read.
	flushes int       // How often Flush executed the outbox while the work was pending.
}

// New returns a relay.
func New(c Config) *Relay {
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return &Relay{
		store:       c.Store,
		collections: c.Collections,
		handlers:    c.Handlers,
		secrets:     c.Secrets,
		retention:   c.Retention,
		broker:      c.Broker,
		metrics:     newMetrics(c.Metrics),
		random:      c.Random,
		tracer:      c.Tracer,
		log:         c.Log,
		queue:       make(chan key, backlog),
		resumed:     make(chan struct{}, 1),
		pending:     map[key]*work{},
		suspended:   map[string]*suspension{},
		swept:       map[query.Collection]time.Time{},
		settled:     map[key][]chan struct{}{},
		executing:   map[key]chan struct{}{},
	}
}

// Kinds are the kinds that have handlers, in no order.
func (r *Relay) Kinds() []string { return r.handlers.Kinds() }

// Wake implements store.Relay.
func (r *Relay) Wake(collection query.Collection, ws, id uuid.UUID) bool {
	k := key{collection, id}
	r.mu.Lock()
	defer r.mu.Unlock()
	w, pending := r.pending[k]
	if !pending {
		w = &work{}
		select {
		case r.queue <- k:
			r.pending[k] = w
		default:
			return false
		}
	}
	if w.ws == uuid.Nil || w.ws == id { // A deleted document is found by either.
		w.ws = ws
	}
	w.woken = true
	return true
}

// Flush executes the effects of a document of a workspace before it returns. The relay retries what failed; the error says
// what that was. For a deleted document the workspace is the one that it left, or its own id.
func (r *Relay) Flush(ctx context.Context, collection query.Collection, ws, id uuid.UUID) error {
	k := key{collection, id}
	if err := r.lock(ctx, k); err != nil {
		return err
	}
	defer r.unlock(k)
	box, err := r.read(ctx, k, ws)
	if err != nil || box.Blocked {
		return err
	}
	err = r.execute(ctx, collection, box)
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.pending[k]; w != nil { // Effects that a worker has read may be executed by now.
		w.flushes++
	}
	return err
}

// read reads one outbox. A missing document has an empty outbox.
func (r *Relay) read(ctx context.Context, k key, ws uuid.UUID) (store.Outbox, error) {
	boxes, _, err := r.store.PendingOf(ctx, k.collection, []store.DocumentKey{{Workspace: ws, ID: k.id}})
	if err != nil || len(boxes) == 0 {
		return store.Outbox{DocumentKey: store.DocumentKey{Workspace: ws, ID: k.id}}, err
	}
	return boxes[0], nil
}

// lock waits until no other goroutine executes the effects of a document. An effect that is executed again after a later
// one could undo it.
func (r *Relay) lock(ctx context.Context, k key) error {
	for {
		done := r.tryLock(k)
		if done == nil {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("wait for the effects of a %s: %w", k.collection, ctx.Err())
		}
	}
}

// tryLock returns nil when it locked the document, else what is closed once it may be tried again.
func (r *Relay) tryLock(k key) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if done, busy := r.executing[k]; busy {
		return done
	}
	r.executing[k] = make(chan struct{})
	return nil
}

func (r *Relay) unlock(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.executing[k])
	delete(r.executing, k)
}

// Settle implements store.Relay. It is Flush for a caller that needs the document's id for another document: when it
// returns, no worker of this process has effects of the old one in flight.
func (r *Relay) Settle(ctx context.Context, collection query.Collection, id uuid.UUID) error {
	if err := r.Flush(ctx, collection, id, id); err != nil { // A deleted document's workspace is its id.
		return err
	}
	k := key{collection, id}
	r.mu.Lock()
	if _, busy := r.pending[k]; !busy {
		r.mu.Unlock()
		return nil
	}
	done := make(chan struct{})
	r.settled[k] = append(r.settled[k], done)
	r.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the effects of a %s: %w", collection, ctx.Err())
	}
}

// forget ends the work on a document. The caller holds the lock.
func (r *Relay) forget(k key) {
	delete(r.pending, k)
	for _, done := range r.settled[k] {
		close(done)
	}
	delete(r.settled, k)
}

// Name implements run.Worker.
func (r *Relay) Name() string { return "outbox relay" }

// Run executes effects until the context ends.
func (r *Relay) Run(ctx context.Context) error {
	for _, kind := range r.handlers.Kinds() {
		r.metrics.deadLetters.WithLabelValues(kind) // At 0 before the first one, so that an alert sees it as an increase.
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				keys := r.take(ctx)
				if keys == nil {
					return
				}
				for len(keys) > 0 {
					keys = r.work(ctx, keys)
				}
			}
		})
	}
	group.Wait()
	return nil
}

// take waits for documents; it returns none at the end of the context. Under load it waits until more have come, so that
// they share their cost. A backlog that fills a batch does not wait.
func (r *Relay) take(ctx context.Context) []key {
	r.turn.Lock()
	defer r.turn.Unlock()
	var keys []key
	select {
	case k := <-r.queue:
		keys = append(keys, k)
	case <-ctx.Done():
		return nil
	}
	if rest := pace - time.Since(r.last); rest > 0 && len(r.queue) < batchSize-1 {
		select {
		case <-time.After(rest):
		case <-ctx.Done():
		}
	}
	r.last = time.Now()
	for len(keys) < batchSize {
		select {
		case k := <-r.queue:
			keys = append(keys, k)
		default:
			return keys
		}
	}
	return keys
}
