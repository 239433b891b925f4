package outbox

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// sweepEvery is the sweeping interval, and sweepAge the age at which an effect without a recorded failure is swept.
	sweepEvery = 2 * time.Second
	sweepAge   = 5 * time.Second
	// sweepPage bounds one query. Of one workspace a sweep takes no more than half a page's documents beyond the page in
	// which it exceeded that, so no workspace keeps the others waiting.
	sweepPage = 1000
	// sweepSoon is the pause after a sweep that left documents behind.
	sweepSoon = 500 * time.Millisecond
	// Times beyond skew in the future are those of a clock that has stepped back since. Every sweepsPerFuture-th sweep looks for
	// them, the first one included.
	skew            = time.Minute
	sweepsPerFuture = 30
)

// Sweep queues the documents whose effects are older than age, or whose next attempt is due. It waits for room in the queue.
// More reports that it left some for the next sweep.
func (r *Relay) Sweep(ctx context.Context, age time.Duration) (more bool, err error) {
	now := r.store.Now()
	for _, collection := range r.collections {
		left, err := r.store.Due(ctx, collection, now.Add(-age), sweepPage)
		if err != nil {
			return more, err
		}
		if err := r.queueDue(ctx, collection, left); err != nil {
			return more, err
		}
		rest, err := r.sweepFailed(ctx, collection, now)
		if err != nil {
			return more, err
		}
		more = more || rest || len(left) == sweepPage
	}
	return more, nil
}

// sweepFuture queues the documents whose effects or next attempts wait for a time that the clock will only reach again: it has
// stepped back since, maybe by hours.
func (r *Relay) sweepFuture(ctx context.Context) error {
	now := r.store.Now()
	for _, collection := range r.collections {
		due, err := r.store.DueInFuture(ctx, collection, now.Add(skew), now.Add(maxBackoff+skew), sweepPage)
		if err != nil {
			return err
		}
		if err := r.queueDue(ctx, collection, due); err != nil {
			return err
		}
	}
	return nil
}

// sweepFailed queues the documents whose next attempt is due, page by page in the order of that time.
func (r *Relay) sweepFailed(ctx context.Context, collection query.Collection, now time.Time) (more bool, err error) {
	var cursor time.Time
	var omit []uuid.UUID
	for {
		page, err := r.store.DueAgain(ctx, collection, cursor, now, omit, sweepPage)
		if err != nil || len(page) == 0 {
			return more, err
		}
		if err := r.queueDue(ctx, collection, page); err != nil {
			return more, err
		}
		if len(page) < sweepPage {
			return more, nil
		}
		cursor = page[len(page)-1].NextAt
		if busiest, share := busiest(page); share > sweepPage/2 {
			omit, more = append(omit, busiest), true
		}
	}
}

// busiest is the workspace with the most documents of a page, and how many those are.
func busiest(page []store.DueOutbox) (uuid.UUID, int) {
	counts := map[uuid.UUID]int{}
	var most uuid.UUID
	for _, d := range page {
		if counts[d.Workspace]++; counts[d.Workspace] > counts[most] {
			most = d.Workspace
		}
	}
	return most, counts[most]
}

// queueDue queues documents, of each workspace in turn.
func (r *Relay) queueDue(ctx context.Context, collection query.Collection, due []store.DueOutbox) error {
	for _, d := range interleaved(due) {
		for !r.wakeSwept(collection, d.DocumentKey) {
			select {
			case <-time.After(pace):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// wakeSwept queues a document whose outbox must be read. It reports whether there was room.
func (r *Relay) wakeSwept(collection query.Collection, document store.DocumentKey) bool {
	return r.Wake(collection, document.Workspace, document.ID, nil, nil) != nil
}

// interleaved are the documents in an order that takes one of each workspace in turn.
func interleaved(due []store.DueOutbox) []store.DueOutbox {
	seen := map[uuid.UUID]int{}
	rounds := make(map[uuid.UUID]int, len(due))
	for _, d := range due {
		rounds[d.ID] = seen[d.Workspace]
		seen[d.Workspace]++
	}
	slices.SortStableFunc(due, func(a, b store.DueOutbox) int { return rounds[a.ID] - rounds[b.ID] })
	return due
}

// Sweeper finds what crashes, outages and failures left behind. Any number of replicas may run it: effects are idempotent.
type Sweeper struct{ Relay *Relay }

// Name implements run.Worker.
func (s Sweeper) Name() string { return "outbox sweeper" }

// Run sweeps once for what the last process left, and then at intervals until the context ends.
func (s Sweeper) Run(ctx context.Context) error {
	age := time.Duration(0)
	for sweeps := 0; ; sweeps++ {
		wait := sweepEvery
		more, err := s.Relay.Sweep(ctx, age)
		if err == nil && sweeps%sweepsPerFuture == 0 {
			err = s.Relay.sweepFuture(ctx)
		}
		switch {
		case err != nil && ctx.Err() == nil:
			s.Relay.log.WarnContext(ctx, "sweep of the outboxes did not finish", "error", err)
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
