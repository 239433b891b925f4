// Package outbox carries out what writes cause elsewhere.
//
// A write pushes its effects into the document that it changes; the relay does them in order and then pulls them.
//
//	write ── wake(document, effects) ──► queue ──► worker: do the effects ─► pull ─► more? ─► done
//	                                        ▲                 │ error
//	sweeper: effects older than 5 s ────────┘                 └──► left for the sweeper
//
// One worker at a time carries out a document's effects, so they happen in the order of the writes. Effects are handed on
// in memory while the document's chain is whole; where it is not (another process wrote, an effect failed), a worker reads
// the outbox. A worker takes all documents that have queued up, at most so often in a second: effects of a kind that does
// not mind are carried out together, and are pulled with one command. So an idle server adds no delay, and a busy one
// shares its round trips and syncs. After a crash, or while the broker is away, effects stay in their documents until a
// sweep finds them. Every effect can be done twice.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// workers bounds how many batches are worked on at once. Few, so that documents gather while all are busy; more than
	// one, so that an effect that takes long does not hold up the others.
	workers = 4
	// together bounds how many documents a worker takes at once, and pace how often in a row workers take any.
	together = 128
	pace     = 20 * time.Millisecond
	// backlog bounds how many documents wait in memory; the sweeper finds those that did not fit. inHand bounds the
	// effects that wait with them; those that did not fit are read from the outboxes.
	backlog = 4096
	inHand  = 2048
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
	handlers    *Mux
	mixed       map[string]bool
	log         *slog.Logger
	queue       chan key

	turn sync.Mutex // Held by the worker that takes documents.
	last time.Time  // When one took any; guarded by turn.

	mu      sync.Mutex
	known   map[key]*work // Waiting or at work.
	waiting int           // Effects in hand that no worker has taken.
	// Awaited are closed when nobody works on a document any longer.
	awaited map[key][]chan struct{}
}

type key struct {
	collection query.Collection
	id         uuid.UUID
}

// work is what is to be done for a document.
type work struct {
	effects []store.Effect      // In hand, in order; of no use when the outbox is read.
	read    bool                // The outbox may hold others.
	chains  []*store.WriteChain // Broken when effects are let go.
}

// due tells whether there is anything to be done.
func (w *work) due() bool { return w.read || len(w.effects) > 0 }

// Config is what a relay works with.
type Config struct {
	Store *store.Store
	// Collections are those whose documents have effects.
	Collections []query.Collection
	Handlers    *Mux
	// Mixed are the kinds whose handlers may receive effects of several documents at once.
	Mixed []string
	Log   *slog.Logger
}

// New returns a relay.
func New(c Config) *Relay {
	mixed := map[string]bool{}
	for _, kind := range c.Mixed {
		mixed[kind] = true
	}
	return &Relay{
		store:       c.Store,
		collections: c.Collections,
		handlers:    c.Handlers,
		mixed:       mixed,
		log:         c.Log,
		queue:       make(chan key, backlog),
		known:       map[key]*work{},
		awaited:     map[key][]chan struct{}{},
	}
}

// Wake implements store.Relay.
func (r *Relay) Wake(collection query.Collection, id uuid.UUID, effects []store.Effect, before *store.WriteChain) *store.WriteChain {
	k := key{collection, id}
	r.mu.Lock()
	defer r.mu.Unlock()
	w, known := r.known[k]
	if !known {
		w = &work{}
		select {
		case r.queue <- k:
			r.known[k] = w
		default:
			before.Break()
			return nil
		}
	}
	chain := before
	switch {
	case !before.Intact():
		chain = &store.WriteChain{}
		r.mustRead(w)
	case r.waiting+len(effects) > inHand:
		r.mustRead(w)
	case !w.read:
		w.effects = append(w.effects, effects...)
		r.waiting += len(effects)
	}
	if !slices.Contains(w.chains, chain) {
		w.chains = append(w.chains, chain)
	}
	return chain
}

// mustRead lets go of what is in hand for a document whose outbox is read instead. The caller holds the lock.
func (r *Relay) mustRead(w *work) {
	r.waiting -= len(w.effects)
	w.effects, w.read = nil, true
}

// Flush carries out a document's effects before it returns. What fails is left for the sweeper, and the error returned.
func (r *Relay) Flush(ctx context.Context, collection query.Collection, id uuid.UUID) error {
	pending, err := r.store.Pending(ctx, collection, id)
	if err != nil {
		return err
	}
	return r.carryOut(ctx, collection, store.Outbox{ID: id, Effects: pending})
}

// Settle implements store.Relay. It is Flush for who needs the document's id for another document: when it returns, no worker of this process has
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
	r.waiting -= len(r.known[k].effects)
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

// take waits for documents, or for the end of the context: then there are none. Under load it waits until some more have
// come, so that they share what they cost.
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
	if rest := pace - time.Since(r.last); rest > 0 {
		select {
		case <-time.After(rest):
		case <-ctx.Done():
		}
	}
	r.last = time.Now()
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

// work carries out the effects of documents. Those that were woken meanwhile queue up again; what it returns found no
// room there.
func (r *Relay) work(ctx context.Context, keys []key) (again []key) {
	byCollection := map[query.Collection]*batch{}
	r.mu.Lock()
	for _, k := range keys {
		b := byCollection[k.collection]
		if b == nil {
			b = &batch{collection: k.collection}
			byCollection[k.collection] = b
		}
		w := r.known[k]
		b.ids = append(b.ids, k.id)
		if w.read {
			b.unread = append(b.unread, k.id)
		} else {
			b.boxes = append(b.boxes, store.Outbox{ID: k.id, Effects: w.effects})
		}
		r.waiting -= len(w.effects)
		w.effects, w.read = nil, false
	}
	r.mu.Unlock()
	for _, b := range byCollection {
		failed := r.carryOutAll(ctx, b)
		again = append(again, r.finish(b, failed)...)
		for id, err := range failed {
			if ctx.Err() == nil && !errors.Is(err, errAway) {
				r.log.WarnContext(ctx, "effects wait for the next sweep", "collection", b.collection, "id", id, "error", err)
			}
		}
	}
	return again
}

// batch is what a worker has taken of one collection.
type batch struct {
	collection query.Collection
	ids        []uuid.UUID
	unread     []uuid.UUID    // Those whose outboxes are to be read.
	boxes      []store.Outbox // The others', and in the end those of all.
}

// finish forgets the documents of a batch, but for those that were woken meanwhile.
func (r *Relay) finish(b *batch, failed map[uuid.UUID]error) (again []key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, box := range b.boxes {
		// What was read may have been woken for in the same moment; it is done.
		w := r.known[key{b.collection, box.ID}]
		rest := slices.DeleteFunc(w.effects, func(e store.Effect) bool {
			return slices.ContainsFunc(box.Effects, func(done store.Effect) bool { return done.ID == e.ID })
		})
		r.waiting -= len(w.effects) - len(rest)
		w.effects = rest
	}
	for _, id := range b.ids {
		k := key{b.collection, id}
		w := r.known[k]
		if failed[id] != nil {
			for _, chain := range w.chains {
				chain.Break()
			}
		} else if w.due() {
			select {
			case r.queue <- k:
			default:
				again = append(again, k)
			}
			continue
		}
		r.forget(k)
	}
	return again
}

// carryOutAll carries out the effects of several documents of one collection and returns what went wrong, by document.
func (r *Relay) carryOutAll(ctx context.Context, b *batch) map[uuid.UUID]error {
	failed := map[uuid.UUID]error{}
	if len(b.unread) > 0 {
		read, err := r.store.PendingOf(ctx, b.collection, b.unread)
		if err != nil {
			for _, id := range b.unread {
				failed[id] = err
			}
		}
		b.boxes = append(b.boxes, read...)
	}
	var shared, alone []store.Outbox
	for _, box := range b.boxes {
		if r.sharing(box.Effects) {
			shared = append(shared, box)
		} else if len(box.Effects) > 0 {
			alone = append(alone, box)
		}
	}
	if len(shared) > 1 && r.carryOutTogether(ctx, b.collection, shared) == nil {
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
		if err := r.carryOut(ctx, b.collection, box); err != nil {
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
		if !r.mixed[e.Kind] {
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
	handler, ok := r.handlers.handler(kind)
	if !ok {
		return fmt.Errorf("no handler registered for effect kind %q", kind)
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
			r.Wake(collection, id, nil, nil)
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
