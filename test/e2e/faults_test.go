//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

const (
	// healthyWork is how much is acknowledged between two faults, so that each fault hits a working server.
	healthyWork = 100
	// outage is how long a connection is cut or slow, unless a scale says otherwise.
	outage = 5 * time.Second
	// redelivered is how long messages may take that a consumer returned during the last outage: its longest delay is 2 min.
	redelivered = 150 * time.Second
)

// faultScale is how long faults last and how many there are. ORCH_TEST_FAULTS chooses it, full or short.
type faultScale struct {
	short bool
	// Outage is how long a connection is cut or slow, a disk full, and how long writes fail.
	outage time.Duration
	// Stopped is how long a process is stopped by SIGSTOP.
	stopped time.Duration
	// StoreAway is how long the store is away, once for each.
	storeAway []time.Duration
	// ClockSteps are how far clocks step.
	clockSteps []time.Duration
	// Pending are the effects that wait for the broker, which is away for brokerAway.
	pending    int
	brokerAway time.Duration
	// Measured is how long a tenant measures its latency, alone and beside each hostile one.
	measured time.Duration
	forms    []faultyForm
}

// requireFaultScale skips the test unless ORCH_TEST_FAULTS is set. ORCH_TEST_BROKER_AWAY, such as 20m, replaces the length of the outage of
// the broker.
func requireFaultScale(t *testing.T) faultScale {
	t.Helper()
	scales := map[string]faultScale{
		"full": {
			outage: outage, stopped: time.Minute, storeAway: []time.Duration{40 * time.Second, 5 * time.Minute},
			clockSteps: []time.Duration{time.Hour, -time.Hour, time.Second, -time.Second},
			pending:    200_000, brokerAway: time.Minute, measured: 10 * time.Second, forms: faultyForms,
		},
		"short": {
			short: true, outage: time.Second, stopped: 2 * time.Second, storeAway: []time.Duration{3 * time.Second}, clockSteps: []time.Duration{time.Hour, -time.Hour},
			pending: 5_000, brokerAway: 2 * time.Second, measured: time.Second, forms: faultyForms,
		},
	}
	scale, exists := scales[os.Getenv("ORCH_TEST_FAULTS")]
	if !exists {
		t.Skip("ORCH_TEST_FAULTS is neither full nor short; make e2e-faults sets it")
	}
	if text := os.Getenv("ORCH_TEST_BROKER_AWAY"); text != "" {
		var err error
		scale.brokerAway, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	return scale
}

// TestFaults injects one fault after another while clients post webhooks and events, run flows, and race for the states of a
// few runs. At the end every acknowledged request is present once, and set_state was linearizable. Most faults wait, so the servers of
// each form and each list of faults run side by side.
func TestFaults(t *testing.T) {
	scale := requireFaultScale(t)
	for _, form := range scale.forms {
		for name, faults := range form.faults {
			t.Run(form.name+", "+name, func(t *testing.T) {
				t.Parallel()
				disk := newFaultyDisk(t)
				w := newWork(t, form.name, form.start(t, disk.dataDir()))
				w.run(func() {
					for _, f := range faults(w, scale, disk) {
						t.Run(f.name, func(t *testing.T) { w.meet(t, f) })
					}
				})
				w.check()
			})
		}
	}
}

// faulty is a server with what faults are injected into.
type faulty struct {
	*Orch
	// proxies are between the services and the store or the broker, by name.
	proxies map[string]*testkit.Chaos
	// natsURL is the broker's own address; empty if it has none.
	natsURL string
}

// faultyForm is a form of the product with proxies between its processes, and the lists of faults that it meets.
type faultyForm struct {
	name   string
	start  func(t *testing.T, dataDir string) faulty
	faults faultLists
}

// faultLists are the lists of faults that a form meets, by name. Each has a server of its own.
type faultLists map[string]func(w *work, scale faultScale, disk *faultyDisk) []fault

var faultyForms = []faultyForm{
	{"one process", func(t *testing.T, dataDir string) faulty {
		return faulty{Orch: StartSingleAt(t, programs, dataDir, FreeAddress(t))}
	}, faultLists{"processes": (*work).faultsOfProcesses}},
	{"three processes", func(t *testing.T, dataDir string) faulty {
		infra := StartInfra(t, programs, dataDir)
		store, broker := testkit.StartChaos(t, infra.MongoAddress), testkit.StartChaos(t, infra.NATSAddress)
		return faulty{
			Orch: StartServices(t, programs, infra,
				"ORCH_MONGODB_URI="+infra.MongoURIAt(store.Addr()), "ORCH_NATS_URL="+infra.NATSURLAt(broker.Addr())),
			proxies: map[string]*testkit.Chaos{"store": store, "broker": broker},
			natsURL: infra.NATSURL(),
		}
	}, faultLists{"processes": (*work).faultsOfProcesses, "connections": (*work).faultsOfConnections}},
}

// fault is injected, and over when inject returns.
type fault struct {
	name   string
	inject func(t *testing.T)
}

// faultsOfProcesses concern clocks, processes and disks. Steps of the clock come first, so the other faults meet documents and messages of
// the future.
func (w *work) faultsOfProcesses(scale faultScale, disk *faultyDisk) []fault {
	faults := append(w.clockFaults(scale.clockSteps), w.processFaults(scale)...)
	faults = append(faults, w.deadLetterFaults()...)
	return append(faults, w.diskFaults(scale, disk)...)
}

// faultsOfConnections concern store and broker. They meet documents and messages of the future too, by one step of each clock.
func (w *work) faultsOfConnections(scale faultScale, _ *faultyDisk) []fault {
	return append(w.clockFaults(scale.clockSteps[:1]), w.networkFaults(scale)...)
}

// clockFaults step the clock of each process and set it right again.
func (w *work) clockFaults(steps []time.Duration) (faults []fault) {
	for _, p := range w.orch.Processes {
		for _, step := range steps {
			faults = append(faults, fault{fmt.Sprintf("clock %+.0f s, %s", step.Seconds(), p.Name()), func(t *testing.T) {
				err := p.StepClock(step)
				if errors.Is(err, errors.ErrUnsupported) {
					t.Log("no step of a clock: it needs Linux on x86-64")
					return
				}
				require.NoError(t, err)
				w.progress(t, healthyWork)
				require.NoError(t, p.StepClock(0))
			}})
		}
	}
	return faults
}

// processFaults kill and stop each process.
func (w *work) processFaults(scale faultScale) (faults []fault) {
	for _, p := range w.orch.Processes {
		faults = append(faults,
			fault{"kill -9 " + p.Name(), func(t *testing.T) { w.orch.Restart(t, p) }},
			fault{"SIGSTOP " + p.Name(), func(t *testing.T) {
				require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGSTOP))
				wait(t.Context(), scale.stopped)
				require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGCONT))
			}},
		)
	}
	return faults
}

// networkFaults cut the services off store and broker, or slow the connections down.
func (w *work) networkFaults(scale faultScale) (faults []fault) {
	for name, proxy := range w.orch.proxies {
		away := []time.Duration{scale.outage}
		if name == "store" {
			away = append(away, scale.storeAway...)
		}
		for _, d := range away {
			faults = append(faults, fault{fmt.Sprintf("%s away for %s", name, d), func(t *testing.T) {
				proxy.Cut()
				wait(t.Context(), d)
				proxy.Heal()
			}})
		}
		faults = append(faults,
			fault{"slow " + name, func(t *testing.T) { proxy.Delay(200 * time.Millisecond); wait(t.Context(), scale.outage); proxy.Heal() }},
			fault{"half-open " + name, func(t *testing.T) { proxy.HalfOpen(); wait(t.Context(), scale.outage); proxy.Heal() }},
		)
	}
	return faults
}

// wait is how long a fault lasts.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// work is what clients do during the faults.
type work struct {
	*testing.T
	form   string
	orch   faulty
	client *Client
	slug   string
	flow   string
	number atomic.Int64
	race   *Contention
	rows   []FaultRow
}

func newWork(t *testing.T, form string, o faulty) *work {
	t.Helper()
	w := &work{T: t, form: form, orch: o, client: &Client{
		HTTP: &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 32}}, Ledger: NewLedger(),
	}}
	t.Cleanup(w.client.HTTP.CloseIdleConnections)
	var err error
	w.slug, err = w.client.CreateWebhook(t.Context(), o.Orch, "faults")
	require.NoError(t, err)
	var flow struct {
		ID string `json:"id"`
	}
	status, err := w.client.post(t.Context(), o.API()+"/flows/", map[string]any{"name": "faults"}, &flow)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status)
	w.flow = flow.ID
	w.race, err = NewContention(t.Context(), w.client, o.Orch, w.flow, 2)
	require.NoError(t, err)
	return w
}

// run lets clients work until do returns.
func (w *work) run(do func()) {
	ctx, stop := context.WithCancel(w.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer stop()
	client := func(n int, request func(ctx context.Context)) {
		for range n {
			clients.Go(func() {
				for ctx.Err() == nil {
					request(ctx)
					wait(ctx, 40*time.Millisecond) // So that the check at the end reads no more than it must.
				}
			})
		}
	}
	client(2, func(ctx context.Context) { w.client.Deliver(ctx, w.orch.Orch, w.slug, fmt.Sprint(w.number.Add(1))) })
	client(2, func(ctx context.Context) { w.client.Publish(ctx, w.orch.Orch, "published") })
	client(2, func(ctx context.Context) {
		run := w.client.CreateRun(ctx, w.orch.Orch, w.flow)
		for _, kind := range []string{"RUNNING", "COMPLETED"} {
			if run != "" {
				w.client.SetState(ctx, w.orch.Orch, run, kind)
			}
		}
	})
	w.race.Start(ctx, func() *Orch { return w.orch.Orch })
	defer w.race.Stop()
	do()
}

// meet injects a fault, and waits until the server works again and until the work of the fault is done.
func (w *work) meet(t *testing.T, f fault) {
	t.Helper()
	w.client.Ledger.Begin(f.name)
	began := time.Now()
	f.inject(t)
	row := FaultRow{Fault: f.name, Form: w.form, Lasts: time.Since(began)}
	ended := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*doneWithin)
	defer cancel()
	left := w.client.WaitDone(ctx, w.orch.Orch, f.name)
	row.Done = time.Since(ended)
	if left > 0 {
		t.Errorf("%s: %d acknowledged requests are not done %s after the fault", f.name, left, row.Done)
	}
	w.orch.WaitReady(t)
	w.progress(t, healthyWork)
	row.Unavailable = w.client.Ledger.Unavailable()
	t.Logf("%-36s done %.1f s after the fault, unavailable for %.1f s", f.name, row.Done.Seconds(), row.Unavailable.Seconds())
	w.rows = append(w.rows, row)
}

// progress waits until so many more requests are acknowledged.
func (w *work) progress(t *testing.T, n int) {
	t.Helper()
	want := w.client.Ledger.Acknowledged() + n
	require.Eventually(t, func() bool { return w.client.Ledger.Acknowledged() >= want }, 2*doneWithin, 5*time.Millisecond,
		"the server does no work after the fault")
}

// check compares what was acknowledged with what is stored, and completes the rows.
func (w *work) check() {
	w.Helper()
	began := time.Now()
	verdict, err := w.client.Check(w.Context(), w.orch.Orch, redelivered)
	require.NoError(w, err)
	w.Logf("%d acknowledged, %d without an answer; all present after %.1f s; %d lost, %d twice", w.client.Ledger.Acknowledged(),
		w.client.Ledger.Unknown(), time.Since(began).Seconds(), len(verdict.Lost), len(verdict.Twice))
	for _, row := range w.rows {
		row.Acknowledged = w.client.Ledger.AcknowledgedIn(row.Fault)
		row.Lost, row.Doubled = verdict.LostIn[row.Fault], verdict.TwiceIn[row.Fault]
		faultTable.Add(w, row)
	}
	require.Empty(w, verdict.Lost)
	require.Empty(w, verdict.Twice)
	require.Empty(w, verdict.Damaged)
	w.Logf("%d operations on contested runs are linearizable", w.race.Check(w, w.orch.Orch, redelivered))
}
