package outbox

import (
	"context"
	"errors"
	"fmt"
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
	// sweepPages bounds the pages of one collection in a sweep, so that a long backlog of it does not keep the other collections waiting.
	// During an outage a sweep takes one page.
	sweepPages = 10
	// Times beyond skew in the future are those of a clock that has stepped back since, and of the runs whose states follow them. Every
	// sweepsPerFuture-th sweep looks for them, the first one included. A full disk that refuses the record of a failure leaves such
	// effects to this sweep alone, and they must not wait for a minute.
	skew            = time.Minute
	sweepsPerFuture = 5
)

// Sweep queues the documents whose next attempt is due, and those whose effects are older than age. It waits for room in the queue.
// A collection that fails does not keep the others from being swept. More reports that it left some for the next sweep, which goes on
// behind the last document of this one.
func (r *Relay) Sweep(ctx context.Context, age time.Duration) (more bool, err error) {
	now := r.store.Now()
	return r.eachCollection(ctx, func(collection query.Collection) (bool, error) {
		again, err := r.sweepFailed(ctx, collection, now)
		for pages := 1; ; pages++ {
			left, missed := r.sweepLeft(ctx, collection, now.Add(-age))
			_, behind := r.swept[collection]
			if !behind || missed != nil || pages == sweepPages || r.suspending() {
				return again || left, errors.Join(err, missed)
			}
		}
	})
}

// eachCollection calls do with each collection, and joins the errors. More reports that one of the calls reported more.
func (r *Relay) eachCollection(ctx context.Context, do func(collection query.Collection) (more bool, err error)) (more bool, err error) {
	var failures []error
	for _, collection := range r.collections {
		left, err := do(collection)
		more = more || left
		if err != nil {
			failures = append(failures, fmt.Errorf("sweep %s: %w", collection, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return more, errors.Join(failures...)
}

// sweepLeft queues a page of the documents with effects that were caused before a time. After a full page the next call takes the
// next one. So documents that cannot be executed during an outage do not hide those behind them.
func (r *Relay) sweepLeft(ctx context.Context, collection query.Collection, before time.Time) (more bool, err error) {
	after := r.swept[collection]
	page, err := r.store.DueBetween(ctx, collection, after, before, sweepPage)
	if err != nil {
		return false, err
	}
	reached := after
	for _, d := range page {
		if d.Oldest.After(reached) {
			reached = d.Oldest
		}
	}
	if len(page) < sweepPage || !reached.After(after) {
		delete(r.swept, collection)
	} else {
		r.swept[collection] = reached
	}
	// The next call returns to the first documents as well.
	more = len(page) == sweepPage || len(page) > 0 && !after.IsZero()
	return more, r.queueDue(ctx, collection, page)
}

// sweepFuture queues the documents whose effects or next attempts wait for a time that the clock will only reach again: it has
// stepped back since, maybe by hours.
func (r *Relay) sweepFuture(ctx context.Context) error {
	now := r.store.Now()
	_, err := r.eachCollection(ctx, func(collection query.Collection) (bool, error) {
		due, err := r.store.DueInFuture(ctx, collection, now.Add(skew), now.Add(maxBackoff+skew), sweepPage)
		return false, errors.Join(err, r.queueDue(ctx, collection, due))
	})
	return err
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
		if busiest, count := busiest(page); count > sweepPage/2 {
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
		for !r.Wake(collection, d.Workspace, d.ID) {
			select {
			case <-time.After(pace):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
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

// Run sweeps once for what the last process left, and then at intervals until the context ends. While a sweep leaves documents
// behind, the next one follows at once: the queue bounds its rate. The end of an outage starts one too.
func (s Sweeper) Run(ctx context.Context) error {
	age := time.Duration(0)
	for sweeps := 0; ; sweeps++ {
		more, err := s.Relay.Sweep(ctx, age)
		if sweeps%sweepsPerFuture == 0 {
			err = errors.Join(err, s.Relay.sweepFuture(ctx))
		}
		if err != nil && ctx.Err() == nil {
			s.Relay.log.WarnContext(ctx, "failed to sweep some outboxes", "error", err)
		}
		wait := sweepEvery
		switch {
		case s.Relay.suspending():
			wait = probeEvery
		case more && err == nil:
			wait = pace
		}
		age = sweepAge
		select {
		case <-ctx.Done():
			return nil
		case <-s.Relay.resumed:
			age = 0 // Effects that met the outage at its end are younger.
		case <-time.After(wait):
		}
	}
}
