//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	slotLimit   = 8
	slotClients = 64
	// slotLease is the duration of a lease, the shortest that a deployment accepts; slotReturn is the time after its end by
	// which a leaked slot is free.
	slotLease  = 60 * time.Second
	slotReturn = 15 * time.Second
	slotKills  = 8
	// slotKillEvery is the time between two kills of a server process.
	slotKillEvery = 4 * time.Second
	// slotRetry is the time after which a client without a slot tries another run.
	slotRetry = 500 * time.Millisecond
	// maxDeadClients bounds the clients that die, so that the others have slots left.
	maxDeadClients = 3
)

// TestSlots has 64 clients run the flow runs of a deployment with eight slots. Some clients die, and the processes of the
// server are killed in turn. By the times of the events there are never more holders than slots, and each leaked slot is
// free 15 s after its lease at the latest. It runs when ORCH_TEST_SLOTS is set; make e2e-slots sets it.
func TestSlots(t *testing.T) {
	if os.Getenv("ORCH_TEST_SLOTS") == "" {
		t.Skip("ORCH_TEST_SLOTS is not set; make e2e-slots sets it")
	}
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			w := newSlotWork(t, form.start(t))
			w.run()
			leaked := w.leaked()
			free := w.waitFree()
			most, runs := w.mostHolders()
			w.Logf("%d runs completed, %d clients died, %d slots leaked; at most %d holders of %d slots; all free %.1f s after the last leak",
				w.completed.Load(), w.dead.Load(), len(leaked), most, slotLimit, free.Sub(w.last).Seconds())
			require.LessOrEqual(t, most, slotLimit, "more holders than slots")
			require.Greater(t, runs, slotClients, "runs that had a slot")
			require.LessOrEqual(t, free.Sub(w.last), slotLease+slotReturn)
		})
	}
}

// slotWork is what the clients do.
type slotWork struct {
	*testing.T
	orch            *Orch
	client          *Client
	deployment      string
	completed, dead atomic.Int64
	last            time.Time // When the last slot leaked, at the latest.
}

func newSlotWork(t *testing.T, o *Orch) *slotWork {
	t.Helper()
	w := &slotWork{T: t, orch: o, client: &Client{
		// Only a client that renews leases loses its slot when it dies.
		UserAgent: "prefect/3.8.8 (API 0.8.4)", Ledger: NewLedger(),
		HTTP: &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: slotClients}},
	}}
	t.Cleanup(w.client.HTTP.CloseIdleConnections)
	var flow, deployment struct {
		ID string `json:"id"`
	}
	_, err := w.client.post(t.Context(), o.API()+"/flows/", map[string]any{"name": "slots"}, &flow)
	require.NoError(t, err)
	status, err := w.client.post(t.Context(), o.API()+"/deployments/", map[string]any{
		"name": "slots", "flow_id": flow.ID, "concurrency_limit": slotLimit,
		"concurrency_options": map[string]any{"collision_strategy": "ENQUEUE", "grace_period_seconds": int(slotLease.Seconds())},
	}, &deployment)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status)
	w.deployment = deployment.ID
	return w
}

// run lets the clients work until the last kill.
func (w *slotWork) run() {
	ctx, stop := context.WithCancel(w.Context())
	var clients sync.WaitGroup
	for i := range slotClients {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 3))
			for ctx.Err() == nil {
				w.runOnce(ctx, random)
			}
		})
	}
	for i := range slotKills {
		wait(w.Context(), slotKillEvery)
		killed := w.orch.Processes[i%len(w.orch.Processes)]
		w.orch.Restart(w, killed)
		w.Logf("killed %s; %d runs completed, %d clients died", killed.Name(), w.completed.Load(), w.dead.Load())
	}
	wait(w.Context(), slotKillEvery)
	stop()
	clients.Wait()
	w.last = time.Now()
}

// flowRun is a run as clients read it.
type flowRun struct {
	ID    string `json:"id"`
	State struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
	} `json:"state"`
}

// runOnce is a client with one run. It proposes the next state until the run is completed or gets no slot, or it dies with a
// slot. After a request without a response it reads which state the run has.
func (w *slotWork) runOnce(ctx context.Context, random *rand.Rand) {
	var run flowRun
	status, err := w.client.post(ctx, w.orch.API()+"/deployments/"+w.deployment+"/create_flow_run", map[string]any{}, &run)
	if err != nil || status >= http.StatusMultipleChoices {
		return
	}
	for ctx.Err() == nil {
		if status, err := w.client.get(ctx, w.orch.API()+"/flow_runs/"+run.ID, &run); err != nil || status != http.StatusOK {
			continue
		}
		next := map[string]string{"SCHEDULED": "PENDING", "PENDING": "RUNNING", "RUNNING": "COMPLETED"}[run.State.Type]
		if next == "" {
			w.completed.Add(1)
			return
		}
		if run.State.Type != "SCHEDULED" && random.IntN(200) == 0 && w.dead.Load() < maxDeadClients {
			w.dead.Add(1)
			return
		}
		var result struct{ Status string }
		_, err := w.client.post(ctx, w.orch.API()+"/flow_runs/"+run.ID+"/set_state", map[string]any{"state": map[string]any{"type": next}}, &result)
		if err == nil && result.Status == "REJECT" { // All slots are taken. The run now waits for longer than the test takes.
			wait(ctx, slotRetry)
			return
		}
	}
}

// leaked are the runs that hold slots, and whose clients are gone.
func (w *slotWork) leaked() []flowRun {
	w.Helper()
	var runs []flowRun
	status, err := w.client.post(w.Context(), w.orch.API()+"/flow_runs/filter", map[string]any{
		"flow_runs": map[string]any{"state": map[string]any{"type": map[string]any{"any_": []string{"PENDING", "RUNNING"}}}},
	}, &runs)
	require.NoError(w, err)
	require.Equal(w, http.StatusOK, status)
	return runs
}

// waitFree waits until no slot is taken, and returns when that was.
func (w *slotWork) waitFree() time.Time {
	w.Helper()
	for {
		var d struct {
			Limit struct {
				Active int `json:"active_slots"`
			} `json:"global_concurrency_limit"`
		}
		status, err := w.client.get(w.Context(), w.orch.API()+"/deployments/"+w.deployment, &d)
		require.NoError(w, err)
		require.Equal(w, http.StatusOK, status)
		if d.Limit.Active == 0 {
			return time.Now()
		}
		require.Less(w, time.Since(w.last), slotLease+slotReturn+time.Minute, "%d slots are not free", d.Limit.Active)
		wait(w.Context(), 100*time.Millisecond)
	}
}

// holderChange is a moment at which the number of holders changes.
type holderChange struct {
	at time.Time
	by int
}

// mostHolders returns the greatest number of runs that held slots at one time by their events, and the number of runs that
// ever held one. A run without a final event holds its slot until its lease ends. The lease began shortly before its last
// event, so that end is taken a second early.
func (w *slotWork) mostHolders() (most, runs int) {
	w.Helper()
	const prefix = "orch.flow-run."
	events, err := w.client.events(w.Context(), w.orch, prefix)
	require.NoError(w, err)
	byRun := map[string][]event{}
	for _, e := range events {
		byRun[e.Resource["orch.resource.id"]] = append(byRun[e.Resource["orch.resource.id"]], e)
	}
	var changes []holderChange
	for _, history := range byRun {
		slices.SortFunc(history, func(a, b event) int { return a.Occurred.Compare(b.Occurred) })
		holds := false
		for _, e := range history {
			name := strings.TrimPrefix(e.Event, prefix)
			active := name == "Pending" || name == "Running"
			switch {
			case active && !holds:
				changes = append(changes, holderChange{e.Occurred, 1})
				runs++
			case !active && holds:
				changes = append(changes, holderChange{e.Occurred, -1})
			}
			holds = active
		}
		if holds {
			changes = append(changes, holderChange{history[len(history)-1].Occurred.Add(slotLease - time.Second), -1})
		}
	}
	// At one moment, slots are released before they are acquired.
	slices.SortFunc(changes, func(a, b holderChange) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	holders := 0
	for _, c := range changes {
		holders += c.by
		most = max(most, holders)
	}
	return most, runs
}
