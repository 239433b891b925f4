package outbox

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/isolation"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// batch has the documents of one collection that a worker took from the queue.
type batch struct {
	collection query.Collection
	ids        []uuid.UUID
	unread     []store.DocumentKey // The documents whose outboxes are not read yet.
	flushes    map[uuid.UUID]int   // When the batch was taken; see work.
	failures   map[uuid.UUID]failure
}

func (b *batch) fail(box store.Outbox, err error) {
	if err != nil {
		b.failures[box.ID] = failure{ws: box.Workspace, attempts: box.Attempts, err: err}
	}
}

// work executes the effects of documents. It queues documents again that were woken in the meantime, and returns those that the
// queue had no room for.
func (r *Relay) work(ctx context.Context, keys []key) (again []key) {
	byCollection := map[query.Collection]*batch{}
	r.mu.Lock()
	for _, k := range keys {
		b := byCollection[k.collection]
		if b == nil {
			b = &batch{collection: k.collection, flushes: map[uuid.UUID]int{}, failures: map[uuid.UUID]failure{}}
			byCollection[k.collection] = b
		}
		w := r.pending[k]
		b.ids = append(b.ids, k.id)
		b.flushes[k.id] = w.flushes
		b.unread = append(b.unread, store.DocumentKey{Workspace: w.ws, ID: k.id})
		w.woken = false
	}
	r.mu.Unlock()
	for _, b := range byCollection {
		r.executeBatch(ctx, b)
		r.deferFailures(ctx, b)
		again = append(again, r.finish(b)...)
	}
	return again
}

// finish forgets the documents of a batch, except those that were woken in the meantime.
func (r *Relay) finish(b *batch) (again []key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range b.ids {
		k := key{b.collection, id}
		w := r.pending[k]
		if _, failed := b.failures[id]; !failed && w.woken {
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

// executeBatch executes the effects of several documents of one collection. It reads as many outboxes at once as the store's bound
// allows, and executes their effects before it reads further ones.
func (r *Relay) executeBatch(ctx context.Context, b *batch) {
	for len(b.unread) > 0 {
		read, rest, err := r.store.PendingOf(ctx, b.collection, b.unread)
		if err != nil {
			for _, document := range b.unread {
				b.fail(store.Outbox{DocumentKey: document}, err)
			}
		}
		r.executeBoxes(ctx, b, read)
		b.unread = rest
	}
}

// executeBoxes executes the effects of documents. Outboxes whose handlers all allow batches are executed together first, the others one
// by one, in a random order.
func (r *Relay) executeBoxes(ctx context.Context, b *batch, boxes []store.Outbox) {
	var batched, single []store.Outbox
	for _, box := range boxes {
		switch {
		case box.Blocked:
			b.failures[box.ID] = failure{blocked: true}
		case r.allowBatch(box.Effects):
			batched = append(batched, box)
		case len(box.Effects) > 0 || box.Deferred:
			single = append(single, box)
		}
	}
	locked := batched[:0]
	for _, box := range batched {
		k := key{b.collection, box.ID}
		switch {
		case r.tryLock(k) != nil:
			single = append(single, box)
		case r.flushed(b, box.ID):
			r.unlock(k)
			single = append(single, box)
		default:
			locked = append(locked, box)
		}
	}
	r.executeHalving(ctx, b, r.executable(ctx, b, locked))
	for _, box := range locked {
		r.unlock(key{b.collection, box.ID})
	}
	for _, i := range r.shuffled(len(single)) {
		b.fail(single[i], r.executeSingle(ctx, b, single[i]))
	}
}

// executable returns outboxes without their effects from the first one of a suspended kind on, which fail. Of each suspended kind whose
// attempt is due it first executes one document by itself.
func (r *Relay) executable(ctx context.Context, b *batch, boxes []store.Outbox) []store.Outbox {
	left := make([]store.Outbox, 0, len(boxes))
	for _, box := range boxes {
		for n, e := range box.Effects {
			s, due, suspended := r.suspension(e.Kind)
			if !suspended {
				continue
			}
			if due {
				b.fail(box, r.execute(ctx, b.collection, box))
				box.Effects = nil
				break
			}
			b.fail(box, suspendedError{s.cause})
			box.Effects, box.Deferred = box.Effects[:n], false // Its recorded failure stays.
			break
		}
		if len(box.Effects) > 0 {
			left = append(left, box)
		}
	}
	return left
}

// flushed reports whether Flush executed effects of a document since the batch was taken.
func (r *Relay) flushed(b *batch, id uuid.UUID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending[key{b.collection, id}].flushes != b.flushes[id]
}

// executeSingle executes the effects of one document, once no one else does.
func (r *Relay) executeSingle(ctx context.Context, b *batch, box store.Outbox) error {
	k := key{b.collection, box.ID}
	if err := r.lock(ctx, k); err != nil {
		return err
	}
	defer r.unlock(k)
	if r.flushed(b, box.ID) {
		var err error
		if box, err = r.read(ctx, k, box.Workspace); err != nil || box.Blocked {
			return err
		}
	}
	return r.execute(ctx, b.collection, box)
}

// shuffled returns the numbers below n in a random order, so that no document always waits for the same others.
func (r *Relay) shuffled(n int) []int {
	order := make([]int, n)
	for i := range order {
		j := int(r.random() * float64(i+1))
		order[i], order[j] = order[j], i
	}
	return order
}

// allowBatch reports whether the handlers of all these effects may receive those of several documents.
func (r *Relay) allowBatch(effects []store.Effect) bool {
	for _, e := range effects {
		if !r.handlers.handler(e.Kind).Batch {
			return false
		}
	}
	return len(effects) > 0
}

// executeHalving executes outboxes together. When that fails it halves them until the failing document is alone; so one
// document costs the others a few more attempts, and never their own. In an outage it stops after the first document of a
// half failed by itself as well.
func (r *Relay) executeHalving(ctx context.Context, b *batch, boxes []store.Outbox) {
	if len(boxes) == 0 {
		return
	}
	if len(boxes) == 1 {
		b.fail(boxes[0], r.execute(ctx, b.collection, boxes[0]))
		return
	}
	err := r.executeTogether(ctx, b.collection, boxes)
	if err == nil {
		return
	}
	if isolation.IsOutage(err) {
		first := boxes[0]
		boxes = boxes[1:]
		err := r.execute(ctx, b.collection, first)
		b.fail(first, err)
		if isolation.IsOutage(err) {
			for _, box := range boxes {
				b.fail(box, suspendedError{err}) // Not attempted by themselves.
			}
			return
		}
	}
	half := (len(boxes) + 1) / 2
	r.executeHalving(ctx, b, boxes[:half])
	r.executeHalving(ctx, b, boxes[half:])
}

// executeTogether executes the effects of several documents: the first kind of each document, then the second, and so on,
// so that each document's own effects keep their order. It removes the deleted documents at the end.
func (r *Relay) executeTogether(ctx context.Context, collection query.Collection, boxes []store.Outbox) error {
	rest := make([][]store.Effect, len(boxes))
	var kept []store.Outbox
	var removed []uuid.UUID
	for i, box := range boxes {
		rest[i] = box.Effects
		if at := slices.IndexFunc(box.Effects, func(e store.Effect) bool { return e.Kind == store.KindRemove }); at >= 0 {
			rest[i] = box.Effects[:at]
			removed = append(removed, box.ID)
		} else {
			kept = append(kept, box)
		}
	}
	for more := true; more; {
		more = false
		var kinds []string // In the order of appearance, so that a failure is the same each time.
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
	if err := r.store.RemoveAll(ctx, collection, removed); err != nil || len(kept) == 0 {
		return err
	}
	return r.store.Done(ctx, collection, kept...)
}
