package liveness

import (
	"context"
	"errors"
	"fmt"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// heartbeats reads the newest heartbeats of a run since the last check, newest first. The heartbeats of the
// run's worker count if the run sends none and a rule says so.
//
// The client's clock orders heartbeats, so a step of a server's clock does not change their order. A server received the first heartbeat in the
// state, or at most an interval before the state: older heartbeats belong to an earlier attempt.
func (m *Monitor) heartbeats(ctx context.Context, w *watch, t timeouts) ([]heartbeat, error) {
	stored, err := m.Events.Heartbeats(ctx, w.workspace, w.run, w.beat.occurred)
	if err != nil {
		return nil, err
	}
	var beats []heartbeat
	for _, beat := range stored {
		if !w.reports && !beat.Received.After(w.entered.Add(-t.interval)) {
			continue
		}
		found := heartbeat{occurred: beat.Occurred, received: beat.Received}
		if beat.Version != "" {
			found.sender = "a client of version " + beat.Version
		}
		beats = append(beats, found)
	}
	w.reports = w.reports || len(beats) > 0
	if !w.reports && t.workers {
		return m.workerHeartbeats(ctx, w, t)
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
