// Package outbox carries out what writes cause elsewhere.
//
// A write pushes its effects into the document that it changes; the relay does them in order and then pulls them.
//
//	write ── wake(document) ──► queue ──► worker: read outboxes ─► do the effects ─► pull ─► more? ─► done
//	                                        ▲                        │ error
//	sweeper: effects older than 5 s ────────┘                        └──► left for the sweeper
//
// One worker at a time carries out a document's effects, so they happen in the order of the writes. A worker takes all
// documents that queued up while it was busy: their outboxes are read with one question, effects of a kind that does not
// mind are carried out together, and are pulled with one command. So an idle server adds no delay, and a busy one shares
// its round trips and syncs. After a crash, or while the broker is away, effects stay in their documents until a sweep
// finds them. Every effect can be done twice.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Handler carries out effects of one kind: those that stand side by side in one document's outbox, in order. For a kind
// that is named to Together they may come from several documents.
type Handler func(ctx context.Context, effects []store.Effect) error

const (
	// workers bounds how many batches are worked on at once. Few, so that documents gather while all are busy; more than
	// one, so that an effect that takes long does not hold up the others.
	workers = 4
	// together bounds how many documents a worker takes at once.
	together = 128
	// backlog bounds how many documents wait in memory; the sweeper finds those that did not fit.
	backlog = 4096
	// sweepEvery is how often documents left behind are looked for, and sweepAge how old an effect must be to count.
	sweepEvery = 5 * time.Second
	sweepAge   = 5 * time.Second
	// sweepBatch bounds one look; after a full one, the next comes sweepSoon.
	sweepBatch = 1000
	sweepSoon  = 500 * time.Millisecond
)

// Relay carries out effects.
type Relay struct {
	store       *store.Store
	collections []query.Collection
	handlers    map[string]Handler
	shared      map[string]bool
	log         *slog.Logger
	queue       chan key

	mu    sync.Mutex
	known map[key]bool // Waiting or at work; true: woken again meanwhile.
	// Awaited are closed when nobody works on a document any longer.
	awaited map[key][]chan struct{}
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
		shared:      map[string]bool{},
		log:         log,
		queue:       make(chan key, backlog),
		known:       map[key]bool{},
		awaited:     map[key][]chan struct{}{},
	}
}

// Together names kinds whose handlers may be given effects of several documents at once. It is called before Run.
func (r *Relay) Together(kinds ...string) {
	for _, kind := range kinds {
		r.shared[kind] = true
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
	pending, err := r.store.Pending(ctx, collection, id)
	if err != nil {
		return err
	}
	return r.carryOut(ctx, collection, store.Outbox{ID: id, Effects: pending})
}

// Settle is Flush for who needs the document's id for another document: when it returns, no worker of this process has
// the old one's effects in hand.
func (r *Relay) Settle(ctx context.Context, collection query.Collection, id uuid.UUID) error {
	if err := r.Flush(ctx, collection, id); err != nil {
		return err
	}
	k := key{collection, id}
	r.mu.Lock()
	if _, busy := r.known[k]; !busy {
		r.mu.Unlock()
		return nil
	}
	done := make(chan struct{})
	r.awaited[k] = append(r.awaited[k], done)
	r.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the effects of a %s: %w", collection, ctx.Err())
	}
}

// forget says that nobody works on a document any longer. The caller holds the lock.
func (r *Relay) forget(k key) {
	delete(r.known, k)
	for _, done := range r.awaited[k] {
		close(done)
	}
	delete(r.awaited, k)
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
					r.work(ctx, r.gather(k))
				case <-ctx.Done():
					return
				}
			}
		})
	}
	group.Wait()
	return nil
}

// gather takes what else waits.
func (r *Relay) gather(first key) []key {
	keys := []key{first}
	for len(keys) < together {
		select {
		case k := <-r.queue:
			keys = append(keys, k)
		default:
			return keys
		}
	}
	return keys
}

// work carries out the effects of documents until none of them was woken meanwhile.
func (r *Relay) work(ctx context.Context, keys []key) {
	for len(keys) > 0 {
		byCollection := map[query.Collection][]uuid.UUID{}
		for _, k := range keys {
			byCollection[k.collection] = append(byCollection[k.collection], k.id)
		}
		keys = keys[:0]
		for collection, ids := range byCollection {
			failed := r.carryOutAll(ctx, collection, ids)
			r.mu.Lock()
			for _, id := range ids {
				k := key{collection, id}
				if failed[id] == nil && r.known[k] {
					r.known[k] = false
					keys = append(keys, k)
				} else {
					r.forget(k)
				}
			}
			r.mu.Unlock()
			for id, err := range failed {
				if ctx.Err() == nil && !errors.Is(err, errAway) {
					r.log.WarnContext(ctx, "effects wait for the next sweep", "collection", collection, "id", id, "error", err)
				}
			}
		}
	}
}

// carryOutAll carries out the effects of several documents of one collection and returns what went wrong, by document.
func (r *Relay) carryOutAll(ctx context.Context, collection query.Collection, ids []uuid.UUID) map[uuid.UUID]error {
	failed := map[uuid.UUID]error{}
	boxes, err := r.store.PendingOf(ctx, collection, ids)
	if err != nil {
		for _, id := range ids {
			failed[id] = err
		}
		return failed
	}
	var shared, alone []store.Outbox
	for _, box := range boxes {
		if r.sharing(box.Effects) {
			shared = append(shared, box)
		} else if len(box.Effects) > 0 {
			alone = append(alone, box)
		}
	}
	if len(shared) > 1 && r.carryOutTogether(ctx, collection, shared) == nil {
		shared = nil
	}
	// If one document's effects spoiled the others', each is tried by itself, in an order that differs each time.
	rest := append(shared, alone...)
	rand.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	inARow := 0
	for _, box := range rest {
		if inARow == givesUp {
			failed[box.ID] = errAway
			continue
		}
		if err := r.carryOut(ctx, collection, box); err != nil {
			failed[box.ID] = err
			inARow++
			continue
		}
		inARow = 0
	}
	return failed
}

// givesUp is how many documents may fail one after another before a worker takes it that what all of them need is away.
const givesUp = 4

var errAway = errors.New("the effects of others before these failed")

func (r *Relay) sharing(effects []store.Effect) bool {
	for _, e := range effects {
		if !r.shared[e.Kind] {
			return false
		}
	}
	return len(effects) > 0
}

// carryOutTogether does the effects of several documents: the first of each document's kinds, then the second, and so on,
// so that each document's own come in their order.
func (r *Relay) carryOutTogether(ctx context.Context, collection query.Collection, boxes []store.Outbox) error {
	rest := make([][]store.Effect, len(boxes))
	for i, box := range boxes {
		rest[i] = box.Effects
	}
	for more := true; more; {
		more = false
		var kinds []string // In the order of appearance, so that a failure comes the same way each time.
		batches := map[string][]store.Effect{}
		for i, effects := range rest {
			if len(effects) == 0 {
				continue
			}
			run := sameKind(effects)
			kind := effects[0].Kind
			if batches[kind] == nil {
				kinds = append(kinds, kind)
			}
			batches[kind] = append(batches[kind], effects[:run]...)
			rest[i], more = effects[run:], true
		}
		for _, kind := range kinds {
			if err := r.handle(ctx, batches[kind]); err != nil {
				return err
			}
		}
	}
	return r.store.Done(ctx, collection, boxes...)
}

// carryOut does one document's effects. Those that were done before one failed are pulled.
func (r *Relay) carryOut(ctx context.Context, collection query.Collection, box store.Outbox) error {
	var failure error
	done := 0
	for done < len(box.Effects) {
		if box.Effects[done].Kind == store.KindRemove {
			return r.store.Remove(ctx, collection, box.ID)
		}
		run := sameKind(box.Effects[done:])
		if failure = r.handle(ctx, box.Effects[done:done+run]); failure != nil {
			break
		}
		done += run
	}
	if done == 0 {
		return failure
	}
	return errors.Join(failure, r.store.Done(ctx, collection, store.Outbox{ID: box.ID, Effects: box.Effects[:done]}))
}

// sameKind counts the effects at the beginning that are of one kind.
func sameKind(effects []store.Effect) int {
	run := 1
	for run < len(effects) && effects[run].Kind == effects[0].Kind {
		run++
	}
	return run
}

// handle hands effects of one kind to who carries them out.
func (r *Relay) handle(ctx context.Context, effects []store.Effect) error {
	kind := effects[0].Kind
	handler, ok := r.handlers[kind]
	if !ok {
		return fmt.Errorf("carry out an effect: nobody handles the kind %q", kind)
	}
	if err := handler(ctx, effects); err != nil {
		return fmt.Errorf("carry out the effect %q: %w", kind, err)
	}
	return nil
}

// Sweep wakes the documents whose effects are older than age. More tells that there may be others.
func (r *Relay) Sweep(ctx context.Context, age time.Duration) (more bool, err error) {
	for _, collection := range r.collections {
		due, err := r.store.Due(ctx, collection, r.store.Now().Add(-age), sweepBatch)
		if err != nil {
			return more, err
		}
		more = more || len(due) == sweepBatch
		for _, id := range due {
			r.Wake(collection, id)
		}
	}
	return more, nil
}

// Sweeper finds what crashes and outages left behind. Any number of replicas may run it: effects can be done twice.
type Sweeper struct{ Relay *Relay }

// Name implements run.Worker.
func (s Sweeper) Name() string { return "outbox sweeper" }

// Run looks at once, for what the last process left, and then again and again until the context ends.
func (s Sweeper) Run(ctx context.Context) error {
	age := time.Duration(0)
	for {
		wait := sweepEvery
		more, err := s.Relay.Sweep(ctx, age)
		switch {
		case err != nil && ctx.Err() == nil:
			s.Relay.log.WarnContext(ctx, "the sweep of the outboxes did not finish", "error", err)
		case more:
			wait = sweepSoon
		}
		age = sweepAge
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}
