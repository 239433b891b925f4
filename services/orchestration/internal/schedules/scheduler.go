package schedules

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/processors"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Scheduler creates the runs of schedules.
type Scheduler struct {
	store       *store.Store
	deployments *store.Collection[*orchv1.Deployment]
	flows       *store.Collection[*orchv1.Flow]
	runs        *flowruns.Service
	limits      Limits
	metrics     *metrics
	log         *slog.Logger

	mu       sync.Mutex
	adopted  bool
	unusable map[string]time.Time // Schedules that were logged as such, with the time of their last change.

	backlog backlog
}

// Deps are what the scheduler works with.
type Deps struct {
	Store *store.Store
	// Runs inserts what was scheduled.
	Runs *flowruns.Service
	// Limits default to DefaultLimits.
	Limits   Limits
	Registry prometheus.Registerer
	Log      *slog.Logger
}

// New returns the scheduler.
func New(d Deps) *Scheduler {
	if d.Limits == (Limits{}) {
		d.Limits = DefaultLimits
	}
	return &Scheduler{
		store:       d.Store,
		deployments: store.NewCollection(d.Store, query.Deployment, &orchv1.Deployment{}),
		flows:       store.NewCollection(d.Store, query.Flow, &orchv1.Flow{}),
		runs:        d.Runs,
		limits:      d.Limits,
		metrics:     newMetrics(d.Registry),
		log:         d.Log,
		unusable:    map[string]time.Time{},
	}
}

// Handlers returns the effect handlers of this package.
func (s *Scheduler) Handlers() []outbox.Handler {
	return []outbox.Handler{{Kind: KindMaterialise, Run: s.Materialise, Batch: true}}
}

// turns are the batches that a pass reads, plans and writes alternately. Deployments that became due last come first, so a
// user's change does not wait for the end of a backlog. The larger batch is for those that have been due for longest.
var turns = []struct {
	order int // Of schedule_due.
	size  int64
}{{order: -1, size: 20}, {order: 1, size: 50}}

// Pass schedules the runs of due deployments, until none is due or Limits.PassRuns is reached after a round of turns. A
// deployment that cannot be scheduled does not delay the others. The next pass continues with the rest.
func (s *Scheduler) Pass(ctx context.Context) (scheduled int, err error) {
	began := time.Now()
	defer func() { s.metrics.passes.Observe(time.Since(began).Seconds()) }()
	now := s.store.Now()
	if err := s.markDue(ctx, now); err != nil {
		return 0, err
	}
	var failures []error
	runs := 0
	for rest := true; rest && ctx.Err() == nil; {
		before := scheduled
		for _, batch := range turns {
			found, err := s.due(ctx, now, batch.order, batch.size)
			if err != nil {
				return scheduled, errors.Join(append(failures, err)...)
			}
			done := s.scheduleAll(ctx, found, now)
			scheduled += done.deployments
			runs += done.runs
			failures = append(failures, done.failures...)
			if rest = len(found) == int(batch.size); !rest {
				break
			}
		}
		rest = rest && scheduled > before && (s.limits.PassRuns == 0 || runs < s.limits.PassRuns)
	}
	s.backlog.passed(now, ctx.Err() != nil || s.limits.PassRuns > 0 && runs >= s.limits.PassRuns)
	return scheduled, errors.Join(failures...)
}

// due reads deployments that are due, those that have been so for longest first, or last for the order -1.
func (s *Scheduler) due(ctx context.Context, now time.Time, order int, limit int64) ([]store.Owned[*orchv1.Deployment], error) {
	return s.deployments.FindAcross(ctx, store.Query{Filter: bson.D{
		{Key: "schedule_due", Value: bson.D{{Key: "$lte", Value: now.UnixMicro()}}},
	}, Sort: bson.D{{Key: "schedule_due", Value: order}}, Limit: limit})
}

// markDue makes due, once per process, the deployments that were stored before there was a scheduler.
func (s *Scheduler) markDue(ctx context.Context, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.adopted {
		return nil
	}
	var strangers []store.Owned[*orchv1.Deployment]
	err := s.deployments.EachAcross(ctx, store.Query{Filter: bson.D{{Key: "schedules.active", Value: true}}}, func(ws uuid.UUID, d *orchv1.Deployment) error {
		if d.ScheduleDue == nil && d.ScheduleGeneration == nil && !d.GetPaused() &&
			!slices.ContainsFunc(d.GetSchedules(), func(sched *orchv1.DeploymentSchedule) bool { return sched.ScheduledUntil != nil }) {
			strangers = append(strangers, store.Owned[*orchv1.Deployment]{Workspace: ws, Message: d})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for deployments without a scheduler: %w", err)
	}
	pass := s.deployments.Store().Pass(ctx, "begin to schedule a deployment")
	for _, one := range strangers {
		if pass.Record(s.makeDue(ctx, one.Workspace, one.Message, now), "workspace", one.Workspace, "deployment_id", one.Message.GetId()) != nil {
			break
		}
	}
	s.adopted = pass.Outage() == nil
	return pass.Outage()
}

// makeDue has the next pass examine a deployment.
func (s *Scheduler) makeDue(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment, now time.Time) error {
	id, err := uuid.Parse(d.GetId())
	if err != nil {
		return fmt.Errorf("read the id of a deployment: %w", err)
	}
	_, err = s.deployments.Mutate(ctx, ws, id, func(current *orchv1.Deployment, _ int64) (*store.Change[*orchv1.Deployment], error) {
		next := proto.CloneOf(current)
		next.ScheduleDue = Due(next, now)
		return &store.Change[*orchv1.Deployment]{Message: next, Quiet: true}, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// scheduleAll plans the runs of deployments side by side, and writes the plans in one command. It decides again for those
// that another writer changed.
func (s *Scheduler) scheduleAll(ctx context.Context, found []store.Owned[*orchv1.Deployment], now time.Time) (done outcome) {
	updates, runs, failures := s.planAll(found, now)
	done = outcome{runs: runs, failures: failures}
	lost, err := store.ChangeAll(ctx, s.deployments, updates)
	if err != nil {
		done.failures = append(done.failures, err)
		return done
	}
	done.deployments = len(updates) - len(lost)
	for _, i := range lost {
		u := updates[i]
		if err := s.schedule(ctx, u.Read.Workspace, u.Read.Message.GetId(), now); err != nil {
			done.failures = append(done.failures, fmt.Errorf("schedule deployment %s: %w", u.Read.Message.GetId(), err))
			continue
		}
		done.deployments++
	}
	return done
}

// outcome is what became of a batch.
type outcome struct {
	deployments, runs int
	failures          []error
}

// planAll plans the runs of deployments on all processors.
func (s *Scheduler) planAll(
	found []store.Owned[*orchv1.Deployment], now time.Time,
) (updates []store.Update[*orchv1.Deployment], runs int, failures []error) {
	plans := make([]store.Update[*orchv1.Deployment], len(found))
	counts := make([]int, len(found))
	errs := make([]error, len(found))
	var group sync.WaitGroup
	var next atomic.Int64
	for range min(processors.Count(), len(found)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(found); i = int(next.Add(1)) - 1 {
				plans[i], counts[i], errs[i] = s.update(found[i], now)
			}
		})
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			failures = append(failures, fmt.Errorf("schedule deployment %s: %w", found[i].Message.GetId(), err))
			continue
		}
		updates = append(updates, plans[i])
		runs += counts[i]
	}
	return updates, runs, failures
}

// update is the write of one deployment's plan, and how many runs it has.
func (s *Scheduler) update(one store.Owned[*orchv1.Deployment], now time.Time) (store.Update[*orchv1.Deployment], int, error) {
	id, err := uuid.Parse(one.Message.GetId())
	if err != nil {
		return store.Update[*orchv1.Deployment]{}, 0, fmt.Errorf("read the id of a deployment: %w", err)
	}
	change, runs, err := s.change(one.Workspace, id, one.Message, now, s.extended(now), false)
	return store.Update[*orchv1.Deployment]{Read: one, Change: change}, runs, err
}

// schedule plans the runs of one deployment and writes when it is to be examined next.
func (s *Scheduler) schedule(ctx context.Context, ws uuid.UUID, deployment string, now time.Time) error {
	id, err := uuid.Parse(deployment)
	if err != nil {
		return fmt.Errorf("read the id of a deployment: %w", err)
	}
	_, err = s.deployments.Mutate(ctx, ws, id, func(current *orchv1.Deployment, _ int64) (*store.Change[*orchv1.Deployment], error) {
		if current.ScheduleDue == nil || current.GetScheduleDue().AsTime().After(now) {
			return nil, nil // Another replica was faster.
		}
		change, _, err := s.change(ws, id, current, now, s.extended(now), false)
		return change, err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// change is the write that has the runs of a deployment inserted, and their number. Within a window of its own, it leaves
// alone what the scheduler remembers.
func (s *Scheduler) change(
	ws, id uuid.UUID, current *orchv1.Deployment, now time.Time, limits Limits, window bool,
) (_ *store.Change[*orchv1.Deployment], runs int, _ error) {
	next := proto.CloneOf(current)
	next.ScheduleDue = nil
	b := batch{Generation: current.GetScheduleGeneration()}
	var due time.Time
	for _, sched := range next.GetSchedules() {
		if next.GetPaused() || !sched.GetActive() {
			continue
		}
		var until time.Time
		if sched.ScheduledUntil != nil && !window {
			until = sched.GetScheduledUntil().AsTime()
		}
		p, err := s.planOf(sched, until, now, limits)
		if err != nil {
			s.skip(current, sched, err)
			continue
		}
		if len(p.times) > 0 {
			planned := planning{Schedule: sched.GetId()}
			for _, t := range p.times {
				planned.Times = append(planned.Times, t.UnixMicro())
			}
			b.Schedules = append(b.Schedules, planned)
			runs += len(p.times)
			sched.ScheduledUntil = timestamppb.New(p.times[len(p.times)-1])
		}
		if !p.due.IsZero() && (due.IsZero() || p.due.Before(due)) {
			due = p.due
		}
	}
	if at := current.ScheduleRecheck; at != nil && !recheckDue(current, now) && (due.IsZero() || at.AsTime().Before(due)) {
		due = at.AsTime()
	}
	if window {
		next = proto.CloneOf(current)
	} else if !due.IsZero() {
		due = later(due, now.Add(time.Second))
		next.ScheduleDue = timestamppb.New(due.Add(jitter(current.GetId(), due.Sub(now))))
	}
	change := &store.Change[*orchv1.Deployment]{Message: next, Quiet: true}
	if !window && recheckDue(current, now) {
		next.ScheduleRecheck = nil
		change.Effects = append(change.Effects, s.recheck(ws, id, current))
	}
	if len(b.Schedules) > 0 {
		e, err := effect(s.store, ws, id, b)
		if err != nil {
			return nil, 0, err
		}
		change.Effects = append(change.Effects, e)
	}
	return change, runs, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (s *Scheduler) planOf(sched *orchv1.DeploymentSchedule, until, now time.Time, limits Limits) (plan, error) {
	times, err := Parse(sched.GetSchedule(), sched.GetCreated().AsTime())
	if err != nil {
		return plan{}, err
	}
	if bound := int(sched.GetMaxScheduledRuns()); bound > 0 {
		limits.MaxRuns = min(limits.MaxRuns, bound)
		limits.MinRuns = min(limits.MinRuns, bound)
	}
	return limits.plan(times, until, now)
}

// skip tells once per change of a schedule that it has no times. The deployment's others go on.
func (s *Scheduler) skip(d *orchv1.Deployment, sched *orchv1.DeploymentSchedule, err error) {
	s.metrics.unusable.Inc()
	changed := sched.GetUpdated().AsTime()
	s.mu.Lock()
	reported := s.unusable[sched.GetId()].Equal(changed)
	if len(s.unusable) >= maxLogged {
		clear(s.unusable)
	}
	s.unusable[sched.GetId()] = changed
	s.mu.Unlock()
	if !reported {
		s.log.Warn("failed to compute the times of a schedule; skipped it", "deployment_id", d.GetId(), "deployment", d.GetName(), "schedule_id", sched.GetId(), "error", err)
	}
}

// maxLogged bounds how many unusable schedules are remembered as logged.
const maxLogged = 10_000

// Within creates the runs of a deployment's schedules in a window of time that may begin in the past. A deleted or paused deployment gets none.
func (s *Scheduler) Within(ctx context.Context, ws, id uuid.UUID, start time.Time, limits Limits) error {
	_, err := s.deployments.Mutate(ctx, ws, id, func(current *orchv1.Deployment, _ int64) (*store.Change[*orchv1.Deployment], error) {
		change, _, err := s.change(ws, id, current, start, limits, true)
		if err != nil || len(change.Effects) == 0 {
			return nil, err
		}
		return change, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Due returns the time at which a new or changed deployment is examined: now. A deployment that makes no runs is examined
// when its recheck is due, or never.
func Due(d *orchv1.Deployment, now time.Time) *timestamppb.Timestamp {
	for _, sched := range d.GetSchedules() {
		if sched.GetActive() && !d.GetPaused() {
			return timestamppb.New(now)
		}
	}
	return d.ScheduleRecheck
}
