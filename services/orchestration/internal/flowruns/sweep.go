package flowruns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// sweepBatch is the number of runs that a clean-up reads at once.
const sweepBatch = 200

// A sweep rests after each sweepBurst runs for sweepRest times the time that they took, up to maxSweepRest: many runs may be late at once, and
// requests of clients come before their states.
const (
	sweepBurst   = 20
	sweepRest    = 4
	maxSweepRest = time.Second
)

// sweepMargin is the time before the deadline at which a pass begins no further batch. In-flight writes complete in it.
const sweepMargin = 3 * time.Second

// sweep is a background task that proposes a state to every run of any workspace that matches a filter.
//
// A pass reads the runs in the order of a field. A pass that ends early records its position, and the next pass continues
// there. A pass that reaches the last run resets the position. So a run that cannot be changed does not block those behind it.
type sweep struct {
	// field orders the runs, and value is the field of a run.
	field  string
	value  func(*orchv1.FlowRun) time.Time
	policy rules.Policy

	mu sync.Mutex // Held during a pass.
	// from is the value that the last pass reached; the zero time is the beginning. tried are the runs of that value that the
	// pass has tried.
	from  time.Time
	tried map[string]bool
}

// pass proposes states until the last run, or until its deadline is near. It returns the number of changed runs. Each
// proposal is decided on the stored run, so a run that changed meanwhile stays as it is.
func (w *sweep) pass(ctx context.Context, s *Service, filter bson.D, propose sweptProposal) (changed int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.from.IsZero() {
		filter = append(filter, bson.E{Key: "$and", Value: bson.A{bson.D{{Key: w.field, Value: bson.D{{Key: "$gte", Value: w.from.UnixMicro()}}}}}})
	}
	var failures []error
	var batch []store.Owned[*orchv1.FlowRun]
	execute := func() (ends bool) {
		written, err := s.suggest(ctx, batch, w.policy, propose)
		w.advance(batch)
		batch = batch[:0]
		changed += written
		failures = append(failures, err)
		return nearEnd(ctx)
	}
	q := store.Query{Filter: filter, Sort: bson.D{{Key: w.field, Value: 1}}}
	err = store.EachRevision(ctx, s.runs, q, func(run store.Owned[*orchv1.FlowRun]) error {
		if w.tried[run.Message.GetId()] && w.value(run.Message).Equal(w.from) {
			return nil
		}
		batch = append(batch, run)
		if len(batch) < sweepBurst && !nearEnd(ctx) {
			return nil
		}
		began := time.Now()
		if execute() || !clock.Pause(ctx, min(sweepRest*time.Since(began), maxSweepRest)) {
			return errPassEnds
		}
		return nil
	})
	if err == nil && len(batch) > 0 && execute() {
		err = errPassEnds
	}
	switch {
	case errors.Is(err, errPassEnds):
		return changed, errors.Join(failures...)
	case err == nil:
		w.from, w.tried = time.Time{}, nil
	}
	return changed, errors.Join(append(failures, err)...)
}

// sweptProposal returns the proposal for the runs of a workspace.
type sweptProposal func(ws uuid.UUID) proposal

// proposing is a proposal for the runs of every workspace, without effects.
func proposing(propose func(current *orchv1.FlowRun) *orchv1.StateCreate) sweptProposal {
	return func(uuid.UUID) proposal {
		return func(current *orchv1.FlowRun) (*orchv1.StateCreate, []store.Effect, error) {
			return propose(current), nil, nil
		}
	}
}

// errPassEnds ends a pass early.
var errPassEnds = errors.New("the pass ends")

// advance records the runs that were tried.
func (w *sweep) advance(tried []store.Owned[*orchv1.FlowRun]) {
	for _, one := range tried {
		if at := w.value(one.Message); !at.Equal(w.from) {
			w.from, w.tried = at, map[string]bool{}
		}
		w.tried[one.Message.GetId()] = true
	}
}

// nearEnd reports whether a context ends soon, or has ended.
func nearEnd(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Until(deadline) < sweepMargin
}

// suggestAll proposes a state to runs that were read, and returns how many it wrote. A run that cannot be changed does not concern
// the others.
func (s *Service) suggestAll(
	ctx context.Context, found []store.Owned[*orchv1.FlowRun], policy rules.Policy, propose sweptProposal,
) (written int, err error) {
	var failures []error
	for burst := range slices.Chunk(found, sweepBurst) {
		n, err := s.suggest(ctx, burst, policy, propose)
		written += n
		failures = append(failures, err)
	}
	return written, errors.Join(failures...)
}

// suggest is suggestAll for a few runs. It writes their states together, and then decides again on runs that other writers changed.
func (s *Service) suggest(
	ctx context.Context, found []store.Owned[*orchv1.FlowRun], policy rules.Policy, propose sweptProposal,
) (written int, err error) {
	var updates []store.Update[*orchv1.FlowRun]
	var decisions []*decision // Of the updates.
	var failures []error
	slots := s.slots.forBurst()
	for _, run := range found {
		id, err := uuid.Parse(run.Message.GetId())
		if err != nil {
			failures = append(failures, fmt.Errorf("read the id of a flow run: %w", err))
			continue
		}
		d := s.decision(ctx, slots, run.Workspace, id, policy, propose(run.Workspace))
		change, err := d.decide(ctx, run.Message, run.Revision+1)
		if err != nil || change == nil {
			d.finish(ctx, err)
			failures = append(failures, err)
			continue
		}
		updates, decisions = append(updates, store.Update[*orchv1.FlowRun]{Read: run, Change: change}), append(decisions, d)
	}
	lost, err := store.ChangeAll(ctx, s.runs, updates)
	failures = append(failures, err)
	for i, d := range decisions {
		failed := err
		if slices.Contains(lost, i) {
			failed = d.write(ctx)
			failures = append(failures, failed)
		} else {
			d.finish(ctx, err)
		}
		if failed == nil && d.written() {
			written++
		}
	}
	failures = slices.DeleteFunc(failures, func(err error) bool { return errors.Is(err, store.ErrNotFound) }) // Deleted meanwhile.
	return written, errors.Join(failures...)
}
