package liveness

import (
	"context"
	"errors"
	"fmt"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// heartbeats reads the newest heartbeats of a run since the last look, newest first. Those of its worker count if the run sends none and a
// rule says so.
func (m *Monitor) heartbeats(ctx context.Context, w *watch, t timeouts) ([]heartbeat, error) {
	stored, err := m.Events.Heartbeats(ctx, w.workspace, w.run, w.after(t))
	if err != nil {
		return nil, err
	}
	w.reports = w.reports || len(stored) > 0
	if !w.reports && t.workers {
		return m.workerHeartbeats(ctx, w, t)
	}
	beats := make([]heartbeat, len(stored))
	for i, beat := range stored {
		beats[i].received = beat.Received
		if beat.Version != "" {
			beats[i].sender = "a client of version " + beat.Version
		}
	}
	return beats, nil
}

// workerHeartbeats returns the last heartbeat of the worker that executes a run, and those that preceded it by the worker's interval. A run
// whose worker is unknown is not judged: its event is stored later, or has expired. A worker that was deleted is silent.
func (m *Monitor) workerHeartbeats(ctx context.Context, w *watch, t timeouts) ([]heartbeat, error) {
	submission, err := m.Events.Submission(ctx, w.workspace, w.run, w.entered.Add(t.interval))
	if errors.Is(err, store.ErrNotFound) {
		w.beat = heartbeat{}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	last, interval, err := m.Workers.LastHeartbeat(ctx, w.workspace, submission.WorkPool, submission.Worker)
	// Another time is a new heartbeat, even an earlier one after a step of the clock.
	if errors.Is(err, store.ErrNotFound) || last.Equal(w.beat.received) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sender := fmt.Sprintf("worker %q, which executes the run", submission.Worker)
	return []heartbeat{{received: last, sender: sender}, {received: last.Add(-interval)}, {received: last.Add(-2 * interval)}}, nil
}
