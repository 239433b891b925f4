//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

const (
	// stopped is how long a process is stopped, outage how long a connection is cut or slow and a disk full.
	stopped = 10 * time.Second
	outage  = 5 * time.Second
	// clockStep is how far clocks step, in both directions.
	clockStep = time.Hour
	// healthyWork is how much is acknowledged between two faults, so that each fault hits a working server.
	healthyWork = 100
	// diskSize is the size of the file system that is filled: a smaller one has no room for the streams that a new server
	// reserves.
	diskSize = 1 << 30
	// redelivered is how long messages may take that a consumer returned during the last outage: its longest delay is 2 min.
	redelivered = 150 * time.Second
)

// TestFaults injects one fault after another while clients post webhooks and events, run flows, and race for the states of a
// few runs. At the end every acknowledged request is present once, and set_state was linearizable.
// It runs when ORCH_TEST_FAULTS is set; make e2e-faults sets it. Steps of the clock come first, so the other faults meet documents and
// messages of the future.
func TestFaults(t *testing.T) {
	if os.Getenv("ORCH_TEST_FAULTS") == "" {
		t.Skip("ORCH_TEST_FAULTS is not set; make e2e-faults sets it")
	}
	for _, form := range faultyForms {
		t.Run(form.name, func(t *testing.T) {
			dataDir, disk := faultyDisk(t)
			w := newWork(t, form.start(t, dataDir))
			faults := w.faults()
			if disk != nil {
				faults = append(faults, fault{"full disk", func(t *testing.T) {
					disk.fill(t)
					w.orch.Restart(t, w.orch.Processes[0]) // A stream accepts no message after a failed write, until its server restarts.
				}})
			} else {
				t.Log("no full disk: a file system of its own needs root")
			}
			w.run(func() {
				for _, f := range faults {
					began := time.Now()
					f.inject(t)
					w.orch.WaitReady(t)
					w.progress(healthyWork)
					t.Logf("%-28s healthy work again after %.1f s", f.name, time.Since(began).Seconds())
				}
			})
			w.check()
		})
	}
}

// faulty is a server with what faults are injected into.
type faulty struct {
	*Orch
	// proxies are between the services and the store or the broker, by name.
	proxies map[string]*testkit.Chaos
}

var faultyForms = []struct {
	name  string
	start func(t *testing.T, dataDir string) faulty
}{
	{"one process", func(t *testing.T, dataDir string) faulty {
		return faulty{Orch: StartSingleAt(t, programs, dataDir, FreeAddress(t))}
	}},
	{"three processes", func(t *testing.T, dataDir string) faulty {
		infra := StartInfra(t, programs, dataDir)
		store, broker := testkit.StartChaos(t, infra.MongoAddress), testkit.StartChaos(t, infra.NATSAddress)
		return faulty{
			Orch: StartServices(t, programs, infra,
				"ORCH_MONGODB_URI="+infra.MongoURIAt(store.Addr()), "ORCH_NATS_URL="+infra.NATSURLAt(broker.Addr())),
			proxies: map[string]*testkit.Chaos{"store": store, "broker": broker},
		}
	}},
}

// fault is injected, and over when inject returns.
type fault struct {
	name   string
	inject func(t *testing.T)
}

// faults are those that need no root.
func (w *work) faults() []fault {
	var all []fault
	for _, p := range w.orch.Processes {
		for _, step := range []time.Duration{clockStep, -clockStep} {
			all = append(all, fault{fmt.Sprintf("clock %+.0f h, %s", step.Hours(), p.Name()), func(t *testing.T) {
				err := p.StepClock(step)
				if errors.Is(err, errors.ErrUnsupported) {
					t.Log("no step of a clock: it needs Linux on x86-64")
					return
				}
				require.NoError(t, err)
				w.progress(healthyWork)
				require.NoError(t, p.StepClock(0))
			}})
		}
	}
	for _, p := range w.orch.Processes {
		all = append(all,
			fault{"kill -9 " + p.Name(), func(t *testing.T) { w.orch.Restart(t, p) }},
			fault{"SIGSTOP " + p.Name(), func(t *testing.T) {
				require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGSTOP))
				wait(t.Context(), stopped)
				require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGCONT))
			}},
		)
	}
	for name, proxy := range w.orch.proxies {
		all = append(all,
			fault{"cut " + name, func(t *testing.T) { proxy.Cut(); wait(t.Context(), outage); proxy.Heal() }},
			fault{"slow " + name, func(t *testing.T) { proxy.Delay(200 * time.Millisecond); wait(t.Context(), outage); proxy.Heal() }},
			fault{"half-open " + name, func(t *testing.T) { proxy.HalfOpen(); wait(t.Context(), outage); proxy.Heal() }},
		)
	}
	return all
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
	orch   faulty
	client *Client
	slug   string
	flow   string
	number atomic.Int64
	race   *Contention
}

func newWork(t *testing.T, o faulty) *work {
	t.Helper()
	w := &work{T: t, orch: o, client: &Client{
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
					wait(ctx, 10*time.Millisecond) // So that the check at the end reads no more than it must.
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

// progress waits until so many more requests are acknowledged.
func (w *work) progress(n int) {
	w.Helper()
	want := w.client.Ledger.Acknowledged() + n
	require.Eventually(w, func() bool { return w.client.Ledger.Acknowledged() >= want }, time.Minute, 5*time.Millisecond,
		"the server does no work after the fault")
}

// check compares what was acknowledged with what is stored.
func (w *work) check() {
	w.Helper()
	began := time.Now()
	verdict, err := w.client.Check(w.Context(), w.orch.Orch, redelivered)
	require.NoError(w, err)
	w.Logf("%d acknowledged, %d without an answer; all present after %.1f s; %d lost, %d twice", w.client.Ledger.Acknowledged(),
		w.client.Ledger.Unknown(), time.Since(began).Seconds(), len(verdict.Lost), len(verdict.Twice))
	require.Empty(w, verdict.Lost)
	require.Empty(w, verdict.Twice)
	w.Logf("%d operations on contested runs are linearizable", w.race.Check(w, w.orch.Orch, redelivered))
}

// disk is a small file system.
type disk struct{ dir string }

// faultyDisk returns a data directory on a file system of its own, or on the common one when there is none to be had.
func faultyDisk(t *testing.T) (string, *disk) {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		return dir, nil
	}
	if err := syscall.Mount("orch-e2e", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		t.Logf("mount a tmpfs: %v", err)
		return dir, nil
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return filepath.Join(dir, "data"), &disk{dir}
}

// fill leaves no room on the disk for a while.
func (d *disk) fill(t *testing.T) {
	t.Helper()
	filler, err := os.Create(filepath.Join(d.dir, "filler"))
	require.NoError(t, err)
	chunk := make([]byte, 64<<10)
	for err == nil {
		_, err = filler.Write(chunk)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	wait(t.Context(), outage)
	require.NoError(t, errors.Join(filler.Close(), os.Remove(filler.Name())))
}
