//go:build e2e

package e2e

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

var (
	runLiveness      = flag.Bool("liveness", false, "run the test of runs that send heartbeats, which make e2e-liveness does")
	livenessRuns     = flag.Int("liveness.runs", 10_000, "how many runs send heartbeats")
	livenessInterval = flag.Duration("liveness.interval", time.Minute, "the interval of the heartbeats, 30 s at least")
	livenessLag      = flag.Duration("liveness.lag", time.Minute, "how long heartbeats are held back, less than two intervals")
)

const (
	// heartbeatBatches is the number of requests that send a heartbeat of each run.
	heartbeatBatches = 100
	// livenessRestarts is the number of times that each process is killed and restarted.
	livenessRestarts = 2
)

// TestHealthyRunsAreNotLost simulates clients of runs that go on, while their heartbeats are late, the processes of the server are killed, and
// their clocks step. None of the runs is lost. In the end one in a hundred stops, and exactly those are lost.
func TestHealthyRunsAreNotLost(t *testing.T) {
	if !*runLiveness {
		t.Skip("make e2e-liveness sends heartbeats for minutes")
	}
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			w := newHeartbeatWork(t, form.startAt(t, t.TempDir(), "ORCH_RUN_MONITOR_EVERY=5s"))
			ctx, stop := context.WithCancel(t.Context())
			defer w.clients.Wait()
			defer stop()
			w.clients.Go(func() { w.beat(ctx) })
			w.clients.Go(func() { w.deliver(ctx) })

			w.during("heartbeats that come in time", func() {})
			w.during("heartbeats that are late", func() {
				w.hold(true)
				wait(ctx, *livenessLag)
				w.hold(false)
			})
			for _, step := range []time.Duration{time.Hour, -time.Hour, 0} {
				w.during("clocks "+step.String()+" off", func() { w.step(step) })
			}
			w.during("restarts", func() {
				for range livenessRestarts {
					for _, p := range w.orch.Processes {
						w.orch.Restart(t, p)
					}
				}
			})
			w.kill()
		})
	}
}

// heartbeatWork is what the clients of the runs do.
type heartbeatWork struct {
	*testing.T
	orch    *Orch
	client  *Client
	runs    []string
	clients sync.WaitGroup

	mu      sync.Mutex
	queue   [][]any // Batches of heartbeats that are not acknowledged yet.
	held    bool
	stopped int // The number of runs, from the first, that have stopped.
}

func newHeartbeatWork(t *testing.T, o *Orch) *heartbeatWork {
	t.Helper()
	const creators = 16
	w := &heartbeatWork{T: t, orch: o, runs: make([]string, *livenessRuns), client: &Client{
		Ledger: NewLedger(), HTTP: &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: creators}},
	}}
	t.Cleanup(w.client.HTTP.CloseIdleConnections)
	w.request(http.MethodPut, "/admin/run_timeouts", map[string]any{"rules": []any{map[string]any{"heartbeat_interval": livenessInterval.Seconds()}}}, nil)
	var flow struct {
		ID string `json:"id"`
	}
	w.request(http.MethodPost, "/flows/", map[string]any{"name": "healthy"}, &flow)
	var group sync.WaitGroup
	for first := range creators {
		group.Go(func() {
			for i := first; i < len(w.runs); i += creators {
				w.runs[i] = w.client.CreateRun(t.Context(), o, flow.ID)
				w.client.SetState(t.Context(), o, w.runs[i], "RUNNING")
			}
		})
	}
	group.Wait()
	require.Equal(t, len(w.runs), w.count("RUNNING"))
	return w
}

// beat makes a heartbeat of each run in each interval, the runs in batches after another.
func (w *heartbeatWork) beat(ctx context.Context) {
	tick := time.NewTicker(*livenessInterval / heartbeatBatches)
	defer tick.Stop()
	size := (len(w.runs) + heartbeatBatches - 1) / heartbeatBatches
	for {
		for first := 0; first < len(w.runs); first += size {
			w.mu.Lock()
			var batch []any
			for i := max(first, w.stopped); i < min(first+size, len(w.runs)); i++ {
				batch = append(batch, map[string]any{
					"id": uuid.NewString(), "event": "orch.flow-run.heartbeat", "occurred": time.Now().UTC(),
					"resource": map[string]string{"orch.resource.id": "orch.flow-run." + w.runs[i], "orch.version": "3.9.1"},
				})
			}
			if batch != nil {
				w.queue = append(w.queue, batch)
			}
			w.mu.Unlock()
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

// deliver sends the batches in order, each until it is acknowledged, as clients do.
func (w *heartbeatWork) deliver(ctx context.Context) {
	for ctx.Err() == nil {
		w.mu.Lock()
		var batch []any
		if len(w.queue) > 0 && !w.held {
			batch = w.queue[0]
		}
		w.mu.Unlock()
		if batch == nil {
			pause(ctx)
			continue
		}
		if status, err := w.client.post(ctx, w.orch.API()+"/events", batch, nil); err == nil && status == http.StatusNoContent {
			w.mu.Lock()
			w.queue = w.queue[1:]
			w.mu.Unlock()
		}
	}
}

// hold begins or ends a time in which heartbeats are not sent.
func (w *heartbeatWork) hold(held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = held
}

// step sets the clocks of all processes off.
func (w *heartbeatWork) step(offset time.Duration) {
	for _, p := range w.orch.Processes {
		err := p.StepClock(offset)
		if errors.Is(err, errors.ErrUnsupported) {
			w.Log("no step of a clock: it needs Linux on x86-64")
			return
		}
		require.NoError(w, err)
	}
}

// during disturbs the clients or the server, and lets two intervals pass. No run is lost.
func (w *heartbeatWork) during(name string, disturb func()) {
	w.Helper()
	began := time.Now()
	disturb()
	wait(w.Context(), 2**livenessInterval)
	lost := w.count("CRASHED")
	w.Logf("%-30s %4.0f s, %d runs, %d lost", name, time.Since(began).Seconds(), len(w.runs), lost)
	require.Zero(w, lost, name)
}

// kill stops one run in a hundred, and waits until these are lost, and no others.
func (w *heartbeatWork) kill() {
	w.Helper()
	killed := max(len(w.runs)/100, 1)
	w.mu.Lock()
	w.stopped = killed
	w.mu.Unlock()
	began := time.Now()
	require.Eventually(w, func() bool { return w.count("CRASHED") >= killed }, 10**livenessInterval, time.Second)
	took := time.Since(began)
	w.Logf("%-30s %4.0f s, %d of %d runs", "lost after they stopped", took.Seconds(), killed, len(w.runs))
	wait(w.Context(), 2**livenessInterval)
	var lost []struct {
		ID string `json:"id"`
	}
	w.request(http.MethodPost, "/flow_runs/filter", map[string]any{"flow_runs": map[string]any{"state": map[string]any{"type": map[string]any{"any_": []string{"CRASHED"}}}}}, &lost)
	require.Len(w, lost, killed)
	for _, run := range lost {
		require.True(w, slices.Contains(w.runs[:killed], run.ID))
	}
	require.LessOrEqual(w, took, 4**livenessInterval)
}

// count returns the number of runs in a state.
func (w *heartbeatWork) count(state string) (n int) {
	w.Helper()
	w.request(http.MethodPost, "/flow_runs/count", map[string]any{"flow_runs": map[string]any{"state": map[string]any{"type": map[string]any{"any_": []string{state}}}}}, &n)
	return n
}

// request calls the server, again while a process restarts.
func (w *heartbeatWork) request(method, path string, body map[string]any, out any) {
	w.Helper()
	require.Eventually(w, func() bool {
		status, err := w.client.send(w.Context(), method, w.orch.API()+path, body, out)
		return err == nil && status < http.StatusMultipleChoices
	}, startTimeout, 100*time.Millisecond, path)
}
