package liveness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/isolation"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/workpools"
)

const (
	// maxWatchedBytes bounds the memory for the runs of a workspace. Beyond it, the runs that entered their states last are not judged.
	maxWatchedBytes = 16 << 20
	// watchBytes is the memory for one run.
	watchBytes = 376
	// maxChecks bounds the runs of one pass. Runs that wait longest come first, and the others are judged later.
	maxChecks = 10_000
	// concurrentChecks is the number of concurrent checks.
	concurrentChecks = 8
	// maxLag is how long a pass waits for the events that the broker acknowledged before it.
	maxLag = 5 * time.Second
	// lagGrace is the number of intervals between passes after a lag in which no run is lost: clients whose events were delayed send them
	// then.
	lagGrace = 2
	// staleAfter is the number of intervals after which counts of runs are those of a replica that no longer makes the passes.
	staleAfter = 3
	// margin is the time before the deadline of a pass at which it begins no further check.
	margin = 3 * time.Second
)

// MonitorDeps are the dependencies of a monitor.
type MonitorDeps struct {
	Store    *store.Store
	Runs     *flowruns.Service
	Events   *events.Service
	Timeouts *Service
	Workers  *workpools.Pools
	// Stored waits until every event is stored that was acknowledged before the call. Its error is an outage unless the context ends.
	Stored func(ctx context.Context) error
	// Maintenance reports whether clients are refused by an operator's decision.
	Maintenance func(ctx context.Context) (bool, error)
	// Every is the interval of the passes.
	Every time.Duration
	// Elapsed is the reading of a monotonic clock.
	Elapsed func() time.Duration
	// Registry may be nil.
	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Monitor ends lost runs, see the package. One replica at a time calls Pass; two at once would be right too, because a run is lost in
// one state only.
type Monitor struct {
	MonitorDeps

	mu      sync.Mutex
	hears   bool          // Whether the last pass heard everything.
	since   time.Duration // Since when the monitor hears.
	lagged  time.Duration // The last pass at which events waited to be stored.
	last    time.Duration // The end of the last pass.
	pass    uint64
	watches map[uuid.UUID]*watch
	active  *activeRuns
	watched map[uuid.UUID]int // The number of watched runs of each workspace.
}

// NewMonitor returns a monitor that has not heard anything yet.
func NewMonitor(d MonitorDeps) *Monitor {
	if d.Elapsed == nil {
		start := time.Now()
		d.Elapsed = func() time.Duration { return time.Since(start) }
	}
	return &Monitor{
		MonitorDeps: d, watches: map[uuid.UUID]*watch{}, watched: map[uuid.UUID]int{}, lagged: -lagGrace * d.Every,
		active: newActiveRuns(d.Registry, staleAfter*d.Every),
	}
}

// Pass checks the runs whose check is due, and ends or reschedules lost runs. It returns the number of lost runs.
func (m *Monitor) Pass(ctx context.Context) (lost int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.Elapsed()
	if !m.hears || now-m.last > 2*m.Every { // A pass may be late by one interval.
		m.since = now
	}
	defer func() { m.last = m.Elapsed() }()
	m.hears = false
	set, err := m.Timeouts.all(ctx)
	if err != nil {
		return 0, err
	}
	if lags, err := m.lags(ctx); err != nil || lags {
		m.hears, m.lagged = lags, now
		return 0, err
	}
	if err := m.list(ctx, now, set); err != nil {
		return 0, err
	}
	if on, err := m.Maintenance(ctx); err != nil || on {
		return 0, err
	}
	lost, err = m.judgeDue(ctx, m.due(now), now, set)
	m.hears = !isolation.IsOutage(err)
	return lost, err
}

// lags waits until the store has all that the broker had before the pass, and reports whether that took too long. There may be
// heartbeats behind a lag, which say when they were received: silence goes on to count, and nothing is lost meanwhile.
func (m *Monitor) lags(ctx context.Context) (bool, error) {
	within, cancel := context.WithTimeout(ctx, maxLag)
	defer cancel()
	err := m.Stored(within)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		m.Log.InfoContext(ctx, "events wait to be stored, so no silent flow run is lost")
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("wait for the events before this pass: %w", err)
	}
	return false, nil
}

// list brings the watches up to date with the runs that can be lost.
func (m *Monitor) list(ctx context.Context, now time.Duration, set timeoutSet) error {
	m.pass++
	unreadable := m.Store.Pass(ctx, "list flow runs that can be lost")
	m.watched = map[uuid.UUID]int{}
	counts := map[activeLabels]int{}
	visit := func(pending bool) func(ws uuid.UUID, run *orchv1.FlowRun) {
		return func(ws uuid.UUID, run *orchv1.FlowRun) {
			count(counts, run)
			if pending && !set.endPending() {
				return
			}
			if m.admit(ws) {
				_ = unreadable.Record(m.see(ws, run, pending, now), "workspace", ws, "flow_run_id", run.GetId()) // The scan ends with the context.
			}
		}
	}
	if err := m.Runs.EachExecuting(ctx, visit(false)); err != nil {
		return err
	}
	if err := m.Runs.EachPending(ctx, visit(true)); err != nil {
		return err
	}
	m.active.set(counts)
	for id, w := range m.watches {
		if w.pass != m.pass {
			delete(m.watches, id)
		}
	}
	return nil
}

// admit reports whether there is memory for another run of a workspace.
func (m *Monitor) admit(ws uuid.UUID) bool {
	if (m.watched[ws]+1)*watchBytes > maxWatchedBytes {
		return false
	}
	m.watched[ws]++
	return true
}

// see records that a run can be lost in its state.
func (m *Monitor) see(ws uuid.UUID, run *orchv1.FlowRun, pending bool, now time.Duration) error {
	id, err := uuid.Parse(run.GetId())
	if err != nil {
		return fmt.Errorf("read the id of a flow run: %w", err)
	}
	state, err := uuid.Parse(run.GetState().GetId())
	if err != nil {
		return fmt.Errorf("read the state of flow run %s: %w", id, err)
	}
	w := m.watches[id]
	if w == nil {
		w = &watch{workspace: ws, run: id}
		m.watches[id] = w
	}
	w.deployment, _ = uuid.Parse(run.GetDeploymentId()) // Nil for none.
	w.pass = m.pass
	if w.state != state {
		w.enter(state, run.GetState().GetTimestamp().AsTime(), pending, now)
	}
	return nil
}

// due returns the watches whose check is due, longest overdue first.
func (m *Monitor) due(now time.Duration) []*watch {
	var due []*watch
	for _, w := range m.watches {
		if w.next <= now {
			due = append(due, w)
		}
	}
	slices.SortFunc(due, func(a, b *watch) int { return cmp.Compare(a.next, b.next) })
	return due[:min(len(due), maxChecks)]
}

// judgeDue judges runs concurrently. A failure of one does not keep the others from being judged.
func (m *Monitor) judgeDue(ctx context.Context, due []*watch, now time.Duration, set timeoutSet) (lost int, err error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	pass := m.Store.Pass(ctx, "judge silent flow runs")
	next := make(chan *watch)
	for range min(concurrentChecks, len(due)) {
		group.Go(func() {
			for w := range next {
				ended, err := m.judge(ctx, w, now, set.forRun(w.workspace, w.deployment))
				mu.Lock()
				if ended {
					lost++
				}
				_ = pass.Record(err, "workspace", w.workspace, "flow_run_id", w.run) // The loop below ends in an outage.
				mu.Unlock()
			}
		})
	}
	for _, w := range due {
		mu.Lock()
		out := isolation.IsOutage(pass.Err())
		mu.Unlock()
		if deadline, ok := ctx.Deadline(); out || ctx.Err() != nil || ok && time.Until(deadline) < margin {
			break
		}
		next <- w
	}
	close(next)
	group.Wait()
	return lost, pass.Err()
}

// judge checks the heartbeats of one run, and reports whether it ended or rescheduled the run.
func (m *Monitor) judge(ctx context.Context, w *watch, now time.Duration, t timeouts) (ended bool, err error) {
	defer func() {
		if err == nil {
			w.plan(now, m.since, t)
		}
	}()
	if !w.pending && t.missed > 0 {
		beats, err := m.heartbeats(ctx, w, t)
		if err != nil {
			return false, err
		}
		w.observe(beats, now, m.since, m.Store.Now(), t)
	}
	if w.suspicious(now, m.since, t) {
		count, err := m.Events.CountAbout(ctx, w.workspace, w.run)
		if err != nil {
			return false, err
		}
		first := !w.suspected
		w.suspect(count, now)
		if first {
			return false, nil
		}
	}
	if !w.lost(now, m.since, t) || now-m.lagged < lagGrace*m.Every {
		return false, nil
	}
	return m.end(ctx, w, t)
}

// end ends or reschedules a lost run.
func (m *Monitor) end(ctx context.Context, w *watch, t timeouts) (bool, error) {
	loss := flowruns.Loss{State: w.state.String(), Reschedule: t.rescheduleSilent, Message: w.silenceMessage(t)}
	if w.pending {
		loss.Reschedule, loss.Message = t.reschedulePending, w.pendingMessage(t)
	}
	ended, err := m.Runs.Lose(ctx, w.workspace, w.run, loss)
	if errors.Is(err, store.ErrContention) {
		return false, nil // It changes, so it is alive; the next check decides.
	}
	if ended {
		m.Log.InfoContext(ctx, "a flow run was lost", "workspace", w.workspace, "flow_run_id", w.run, "pending", w.pending)
	}
	return ended, err
}
