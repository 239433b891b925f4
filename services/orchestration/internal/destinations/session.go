package destinations

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// pageSize and pageBytes bound the deliveries that a session reads at once.
	pageSize  = 100
	pageBytes = 1 << 20
	// maxConcurrent bounds the requests to a destination that are in flight.
	maxConcurrent = 8
	// idleFor is when a destination without work is examined for deliveries whose retention is over.
	idleFor = time.Hour
)

// errSessionOver reports that a session ended with work left.
var errSessionOver = errors.New("the time of the session is over")

// session sends the deliveries of one destination during a claim.
type session struct {
	sender *Sender
	claim  *claim
	until  time.Time
	// sending is the context of requests and their results, which may end after the claim.
	sending context.Context

	// tokens serializes the requests of tokens.
	tokens sync.Mutex

	mu sync.Mutex
	// circuit is that of the destination, as far as the session knows.
	circuit *orchv1.DestinationCircuit
}

// run sends until no delivery is due, and ends the claim. Its error is errSessionOver if the claim remains.
func (cs *session) run(ctx context.Context) error {
	s, c := cs.sender.service, cs.claim
	for ctx.Err() == nil && time.Now().Before(cs.until) {
		d, err := s.destinations.Get(ctx, c.ws, c.id)
		if err != nil {
			return err
		}
		if c.tidy {
			if err := s.tidy(ctx, c.ws, c.id); err != nil {
				return err
			}
			if err := s.removeUnused(ctx, c.ws, c.id, d); err != nil && !errors.Is(err, errChanged) {
				return err
			}
			c.tidy = false
		}
		cs.setCircuit(d.GetCircuit())
		page, due, err := cs.next(ctx, d)
		switch {
		case err != nil:
			return err
		case len(page) > 0:
			err = cs.send(ctx, d, page)
		default:
			if err = c.end(ctx, d.GetSequence(), due); err == nil {
				return nil
			}
		}
		if err != nil && !errors.Is(err, errChanged) {
			return err
		}
	}
	return errSessionOver
}

// next returns the deliveries to attempt now. Without any, it returns the time at which the destination is due again.
func (cs *session) next(ctx context.Context, d *orchv1.Destination) (page []*orchv1.DestinationDelivery, due time.Time, err error) {
	s, c := cs.sender.service, cs.claim
	now := s.Store.Now()
	idle := now.Add(idleFor)
	if !d.GetEnabled() {
		return nil, idle, nil
	}
	open := probing(d.GetCircuit())
	if !open {
		page, err := s.due(ctx, c.ws, c.id)
		if err != nil || len(page) > 0 {
			return page, idle, err
		}
	}
	first, err := s.first(ctx, c.ws, c.id)
	if err != nil || first == nil {
		return nil, idle, err
	}
	due = first.GetNextAttempt().AsTime()
	if open {
		due = d.GetCircuit().GetProbe().AsTime()
		if !due.After(now) { // The delivery probes the destination, whenever its own attempt is due.
			if first.Key != nil {
				page, err = s.firstOf(ctx, c.ws, c.id, first.GetKey(), 1)
				return page, idle, err
			}
			return []*orchv1.DestinationDelivery{first}, idle, nil
		}
	}
	if idle.Before(due) {
		due = idle
	}
	return nil, due, nil
}

// chains groups deliveries by their keys, in the order of their first ones. A delivery without a key is a chain of its own.
func chains(page []*orchv1.DestinationDelivery) [][]*orchv1.DestinationDelivery {
	var all [][]*orchv1.DestinationDelivery
	position := map[string]int{}
	for _, d := range page {
		i, found := position[d.GetKey()]
		if d.Key == nil || !found {
			if d.Key != nil {
				position[d.GetKey()] = len(all)
			}
			all = append(all, []*orchv1.DestinationDelivery{d})
			continue
		}
		all[i] = append(all[i], d)
	}
	return all
}

// send attempts the deliveries of a page: those of one key one after another, others side by side. It begins no further ones once the
// circuit has opened.
func (cs *session) send(ctx context.Context, d *orchv1.Destination, page []*orchv1.DestinationDelivery) error {
	to, err := cs.sender.service.endpointOf(cs.claim.ws, d)
	if err != nil {
		return err
	}
	sending, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	slots := make(chan struct{}, maxConcurrent)
	for i, chain := range chains(page) {
		if i > 0 && cs.open() {
			break
		}
		select {
		case slots <- struct{}{}:
		case <-sending.Done():
		}
		if sending.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			if err := cs.sendChain(sending, to, chain); err != nil {
				stop(err)
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return errSessionOver
	}
	return context.Cause(sending)
}

// sendChain attempts deliveries one after another. After a failure the later deliveries of its key wait.
func (cs *session) sendChain(ctx context.Context, to *endpoint, chain []*orchv1.DestinationDelivery) error {
	s, c, key := cs.sender.service, cs.claim, chain[0].Key
	if key != nil {
		first, err := s.firstOf(ctx, c.ws, c.id, *key, len(chain), "_id", "sequence")
		if err != nil {
			return err
		}
		slices.SortFunc(chain, func(a, b *orchv1.DestinationDelivery) int { return cmp.Compare(a.GetSequence(), b.GetSequence()) })
		n := 0
		for n < min(len(chain), len(first)) && chain[n].GetId() == first[n].GetId() {
			n++
		}
		if err := s.park(ctx, c.ws, chain[n:]); err != nil { // An earlier delivery of the key is not in the page.
			return err
		}
		chain = chain[:n]
	}
	for i, d := range chain {
		if i > 0 && cs.open() {
			return nil
		}
		if err := cs.wait(ctx, to.interval); err != nil {
			return err
		}
		if key != nil && i == len(chain)-1 {
			if err := s.promote(ctx, c.ws, c.id, *key, d.GetSequence()); err != nil {
				return err
			}
		}
		stored, err := cs.attempt(ctx, to, d)
		if err != nil {
			return err
		}
		if key != nil && stored.NextAttempt != nil {
			return s.park(ctx, c.ws, chain[i+1:])
		}
	}
	return nil
}

// catchUp bounds the requests that follow a late one without a pause, as a time.
const catchUp = 100 * time.Millisecond

// wait waits for the time of the next request by the rate of the destination.
func (cs *session) wait(ctx context.Context, interval time.Duration) error {
	if interval == 0 {
		return nil
	}
	cs.mu.Lock()
	now := time.Now()
	slot := cs.claim.slot.Add(interval)
	if slot.Before(now.Add(-catchUp)) {
		slot = now
	}
	cs.claim.slot = slot
	cs.mu.Unlock()
	timer := time.NewTimer(slot.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open reports whether the circuit is open.
func (cs *session) open() bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return probing(cs.circuit)
}

func (cs *session) setCircuit(circuit *orchv1.DestinationCircuit) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.circuit = circuit
}
