package liveness

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// disturbance is what happens to a server, its clients and their clocks while runs go on.
type disturbance struct {
	name string
	// interval is that of the clients' heartbeats; 0 means three minutes.
	interval time.Duration
	// at changes the world before the step that begins at a time. It returns whether clients reach the server, and whether the monitor
	// makes its pass.
	at func(w *world, elapsed time.Duration) (reachable, passes bool)
	// occurred and received are how wrong the clocks of client and gateway are.
	occurred, received time.Duration
}

func during(elapsed, from, to time.Duration) bool { return elapsed >= from && elapsed < to }

// steps makes a wall clock step once.
func steps(by time.Duration) func(*world, time.Duration) (bool, bool) {
	return func(w *world, elapsed time.Duration) (bool, bool) {
		if elapsed == 20*time.Minute {
			w.wall.Advance(by)
		}
		return true, true
	}
}

var disturbances = []disturbance{
	{name: "none"},
	{name: "clients with a longer interval", interval: 5 * time.Minute},
	{name: "clients with a shorter interval", interval: 30 * time.Second},
	{name: "a lag every four minutes", at: func(w *world, elapsed time.Duration) (bool, bool) {
		w.lag(elapsed%(4*time.Minute) >= 2*time.Minute)
		return true, true
	}},
	{name: "a lag of half an hour", at: func(w *world, elapsed time.Duration) (bool, bool) {
		w.lag(during(elapsed, 10*time.Minute, 40*time.Minute))
		return true, true
	}},
	{name: "restarts every five minutes", at: func(w *world, elapsed time.Duration) (bool, bool) {
		if elapsed%(5*time.Minute) == 0 {
			w.restart()
		}
		return true, true
	}},
	{name: "no monitor for half an hour", at: func(_ *world, elapsed time.Duration) (bool, bool) {
		return true, !during(elapsed, 10*time.Minute, 40*time.Minute)
	}},
	{name: "a server that is away for half an hour", at: func(_ *world, elapsed time.Duration) (bool, bool) {
		up := !during(elapsed, 10*time.Minute, 40*time.Minute)
		return up, up
	}},
	{name: "a restart after half an hour without a server", at: func(w *world, elapsed time.Duration) (bool, bool) {
		if elapsed == 40*time.Minute {
			w.restart()
		}
		up := !during(elapsed, 10*time.Minute, 40*time.Minute)
		return up, up
	}},
	{name: "an outage of the store for half an hour", at: func(w *world, elapsed time.Duration) (bool, bool) {
		if !during(elapsed, 10*time.Minute, 40*time.Minute) {
			return true, true
		}
		ended, cancel := context.WithCancel(w.Context())
		cancel()
		_, err := w.monitor.Pass(ended) // The context stands for a store that does not respond.
		require.Error(w, err)
		return false, false
	}},
	{name: "a maintenance of half an hour", at: func(w *world, elapsed time.Duration) (bool, bool) {
		w.maintenance = during(elapsed, 10*time.Minute, 40*time.Minute)
		return !w.maintenance, true
	}},
	{name: "clients that do not reach the server for two intervals", at: func(_ *world, elapsed time.Duration) (bool, bool) {
		return !during(elapsed, 10*time.Minute, 15*time.Minute), true
	}},
	{name: "a clock that steps forward", at: steps(time.Hour)},
	{name: "a clock that steps back", at: steps(-time.Hour)},
	{name: "a clock that steps back, before a heartbeat that comes late", at: func(w *world, elapsed time.Duration) (bool, bool) {
		steps(-time.Hour)(w, elapsed)
		return !during(elapsed, 26*time.Minute+30*time.Second, 29*time.Minute+30*time.Second), true
	}},
	{name: "a client's clock that is ahead", occurred: time.Hour},
	{name: "a client's clock that is behind", occurred: -time.Hour},
	{name: "a gateway's clock that is ahead", received: 10 * time.Minute},
	{name: "a gateway's clock that is behind", received: -10 * time.Minute},
}

// simulate lets runs live for a time, or until they are killed, and returns when the first one was lost.
func (w *world) simulate(runs []*orchv1.FlowRun, d disturbance, alive func(elapsed time.Duration) bool, most time.Duration) time.Duration {
	w.Helper()
	interval := d.interval
	if interval == 0 {
		interval = 3 * time.Minute
	}
	sent := -interval
	for elapsed := time.Duration(0); elapsed < most; elapsed += every {
		reachable, passes := true, true
		if d.at != nil {
			reachable, passes = d.at(w, elapsed)
		}
		if alive(elapsed) && reachable && elapsed-sent >= interval {
			sent = elapsed
			if w.pool != nil {
				w.workerBeat(interval)
			}
			for _, run := range runs {
				if w.pool == nil {
					w.beat(run, d.occurred, d.received)
				}
			}
		}
		if passes && w.pass() > 0 {
			return elapsed
		}
		w.advance(every)
	}
	return 0
}

func (w *world) running(n int) []*orchv1.FlowRun {
	runs := make([]*orchv1.FlowRun, n)
	for i := range runs {
		runs[i] = w.create()
		if w.pool != nil {
			w.submit(runs[i], "process")
		} else {
			w.propose(runs[i], running)
		}
	}
	return runs
}

// eachSender is a test of runs that send heartbeats, and of runs whose worker sends them.
func eachSender(t *testing.T, test func(t *testing.T, w *world, d disturbance)) {
	t.Helper()
	for _, d := range disturbances {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t), d)
		})
		t.Run("worker/"+d.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.withWorker()
			test(t, w, d)
		})
	}
}

// No run that goes on is lost, whatever happens to the server and the clocks.
func TestHealthyRunsAreNeverLost(t *testing.T) {
	t.Parallel()
	eachSender(t, func(t *testing.T, w *world, d disturbance) {
		runs := w.running(2)
		require.Zero(t, w.simulate(runs, d, func(time.Duration) bool { return true }, time.Hour))
		for _, run := range runs {
			require.Equal(t, running, w.read(run).GetState().GetType())
		}
	})
}

// A run whose process ends after its last heartbeat is lost within three intervals, and within one more where the server could not hear or
// cannot trust its clocks. While the server does not hear, silence does not count.
func TestKilledRunsAreLost(t *testing.T) {
	t.Parallel()
	const killed = 50 * time.Minute
	eachSender(t, func(t *testing.T, w *world, d disturbance) {
		if d.name == "restarts every five minutes" {
			t.Skip("a monitor that never lives for three intervals ends no run")
		}
		interval := max(d.interval, 3*time.Minute)
		lost := w.simulate(w.running(2), d, func(elapsed time.Duration) bool { return elapsed < killed }, 3*time.Hour)
		require.NotZero(t, lost)
		require.LessOrEqual(t, lost, killed+4*interval+2*every)
		require.Greater(t, lost, killed)
	})
	t.Run("within three intervals of the last heartbeat", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		lost := w.simulate(w.running(1), disturbance{}, func(elapsed time.Duration) bool { return elapsed < killed }, 3*time.Hour)
		const last = 48 * time.Minute
		require.InDelta(t, (last + 9*time.Minute).Seconds(), lost.Seconds(), every.Seconds())
	})
}

// A run that ends at any time after a step of the clock is lost within four intervals, and one that goes on is not.
func TestRunsThatEndAfterAStepAreLost(t *testing.T) {
	t.Parallel()
	const (
		interval  = 3 * time.Minute
		disturbed = 30 * time.Minute // The time of the last disturbance.
		phases    = int(interval / every)
		beats     = 6 // After the last disturbance, of the run that ends last.
	)
	step := func(by time.Duration) func(w *world, elapsed time.Duration) {
		return func(w *world, elapsed time.Duration) {
			if elapsed == disturbed {
				w.wall.Advance(by)
			}
		}
	}
	for name, at := range map[string]func(w *world, elapsed time.Duration){
		"forward":                          step(time.Hour),
		"forward by half an interval":      step(interval / 2),
		"forward by less than an interval": step(interval - time.Second),
		"back":                             step(-time.Hour),
		"back by half an interval":         step(-interval / 2),
		"back by an interval":              step(-interval),
		"forward and back, before a restart": func(w *world, elapsed time.Duration) {
			switch elapsed {
			case disturbed - 4*interval:
				w.wall.Advance(time.Hour)
			case disturbed - 2*interval:
				w.wall.Advance(-time.Hour)
			case disturbed:
				w.restart()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			runs := w.running(phases * (beats + 1))
			last, lost := make([]time.Duration, len(runs)), make([]time.Duration, len(runs))
			for elapsed := time.Duration(0); elapsed < disturbed+(beats+6)*interval; elapsed += every {
				at(w, elapsed)
				for i, run := range runs {
					ends := disturbed + time.Duration(i/phases)*interval // The runs of the last ends go on.
					if phase := time.Duration(i%phases) * every; elapsed%interval == phase && (elapsed < ends || i/phases == beats) {
						w.beat(run, 0, 0)
						last[i] = elapsed
					}
				}
				w.pass()
				for i, run := range runs {
					if lost[i] == 0 && w.read(run).GetState().GetType() == crashed {
						lost[i] = elapsed
					}
				}
				w.advance(every)
			}
			for i := range runs {
				if i/phases == beats {
					require.Zero(t, lost[i], "run %d goes on", i)
					continue
				}
				require.NotZero(t, lost[i], "run %d", i)
				require.LessOrEqual(t, lost[i], max(last[i], disturbed)+4*interval, "run %d with its last heartbeat at %s", i, last[i])
			}
		})
	}
}

// The client's clock orders heartbeats, so a step back of the clock that receives them brings no run under suspicion. After a heartbeat from
// the future, the number of events about the run shows that it is alive.
func TestHeartbeatsWithOtherTimes(t *testing.T) {
	t.Parallel()
	const interval, steps = 3 * time.Minute, 30 * time.Minute
	for name, c := range map[string]struct {
		beat      func(w *world, run *orchv1.FlowRun, elapsed time.Duration)
		suspected bool
	}{
		"a receiver's clock that steps back": {beat: func(w *world, run *orchv1.FlowRun, elapsed time.Duration) {
			if elapsed < steps {
				w.beat(run, 0, 2*time.Hour)
				return
			}
			w.beat(run, 0, 0)
		}},
		"a receiver's clock that steps forward": {beat: func(w *world, run *orchv1.FlowRun, elapsed time.Duration) {
			if elapsed < steps {
				w.beat(run, 0, -2*time.Hour)
				return
			}
			w.beat(run, 0, 0)
		}},
		"heartbeats from the future": {suspected: true, beat: func(w *world, run *orchv1.FlowRun, elapsed time.Duration) {
			w.beat(run, 0, 0)
			if elapsed == steps {
				for range 5 {
					w.beat(run, 100*365*24*time.Hour, 0)
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := w.running(1)[0]
			const alive = 2 * time.Hour
			for elapsed := time.Duration(0); ; elapsed += every {
				if elapsed < alive && elapsed%interval == 0 {
					c.beat(w, run, elapsed)
				}
				lost := w.pass() > 0
				require.False(t, lost && elapsed < alive, "lost after %s", elapsed)
				if watched := w.monitor.watches[uuid.MustParse(run.GetId())]; elapsed == alive-every {
					require.Equal(t, c.suspected, watched.suspected)
				}
				if lost {
					require.LessOrEqual(t, elapsed, alive-interval+4*interval)
					return
				}
				require.Less(t, elapsed, 2*alive, "the run ended")
				w.advance(every)
			}
		})
	}
}

func TestWhatALostRunBecomes(t *testing.T) {
	t.Parallel()
	reschedule := &orchv1.RunTimeoutRule{
		OnMissedHeartbeats: orchv1.LostRunAction_LOST_RUN_ACTION_RESCHEDULE.Enum(), HeartbeatInterval: durationpb.New(time.Minute), MissedHeartbeats: new(int64(2)),
	}
	for _, c := range []struct {
		name string
		// retries are those of a run of a deployment; a negative number means a run without one.
		retries int64
		rule    *orchv1.RunTimeoutRule
		want    orchv1.StateType
	}{
		{name: "crashed by default", retries: -1, want: crashed},
		{name: "crashed by default with retries left", retries: 3, want: crashed},
		{name: "rescheduled", retries: 1, rule: reschedule, want: scheduled},
		{name: "crashed without retries left", rule: reschedule, want: crashed},
		{name: "crashed without a deployment", retries: -1, rule: reschedule, want: crashed},
		{name: "nothing where it is off", retries: -1, rule: &orchv1.RunTimeoutRule{MissedHeartbeats: new(int64(0))}, want: running},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.rule != nil {
				w.set(c.rule)
			}
			run := w.create()
			if c.retries >= 0 {
				run = w.create(w.ofDeployment(c.retries))
			}
			w.propose(run, running)
			w.simulate([]*orchv1.FlowRun{run}, disturbance{}, func(elapsed time.Duration) bool { return elapsed == 0 }, time.Hour)
			state := w.read(run).GetState()
			require.Equal(t, c.want, state.GetType())
			if c.want != running {
				require.Contains(t, state.GetMessage(), "The last heartbeat was received at 2026-11-21T12:00:00Z from a client of version 3.9.1")
			}
			if c.want == scheduled {
				require.Equal(t, "AwaitingRetry", state.GetName())
			}
		})
	}
}

// A run that sends no heartbeats is not judged, and heartbeats of others do not count for it.
func TestOnlyRunsWithHeartbeatsAreJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	silent, foreign, ended := w.running(1)[0], &orchv1.FlowRun{Id: uuid.NewString()}, w.running(1)[0]
	w.propose(ended, completed)
	w.beat(foreign, 0, 0)
	w.send("orch.flow-run.heartbeat", "orch.flow-run.nobody", 0, 0)
	w.send("orch.flow-run.heartbeat", "", 24*time.Hour, 0)
	w.beat(ended, 0, 0)
	require.Zero(t, w.simulate(nil, disturbance{}, func(time.Duration) bool { return false }, time.Hour))
	require.Equal(t, running, w.read(silent).GetState().GetType())
	require.Equal(t, completed, w.read(ended).GetState().GetType())
}

// A run that waits in its process for a retry is lost like a running one.
func TestARunThatWaitsForItsRetryIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.create(func(c *orchv1.FlowRunCreate) {
		c.EmpiricalPolicy = &orchv1.FlowRunPolicy{Retries: new(int64(1)), RetryDelay: new(int64(3600))}
	})
	w.propose(run, running)
	w.beat(run, 0, 0)
	require.Equal(t, "AwaitingRetry", w.propose(run, failed).GetState().GetName())
	require.NotZero(t, w.simulate(nil, disturbance{}, func(time.Duration) bool { return false }, time.Hour))
	require.Equal(t, crashed, w.read(run).GetState().GetType())
}

// Events about a run acquit it, even where no clock orders its heartbeats.
func TestOtherEventsAcquitARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.running(1)[0]
	busy := disturbance{at: func(w *world, elapsed time.Duration) (bool, bool) {
		if elapsed%time.Minute == 0 && elapsed < time.Hour {
			w.send("orch.task-run.Completed", "orch.task-run."+uuid.NewString(), 0, 0, "orch.flow-run."+run.GetId())
		}
		return true, true
	}}
	lost := w.simulate([]*orchv1.FlowRun{run}, busy, func(elapsed time.Duration) bool { return elapsed == 0 }, 2*time.Hour)
	require.Greater(t, lost, time.Hour)
	require.LessOrEqual(t, lost, time.Hour+4*3*time.Minute)
}

// The result of a process that was only silent replaces CRASHED. A rescheduled run is ended by it while nobody has started it.
func TestALostRunThatReports(t *testing.T) {
	t.Parallel()
	lose := func(t *testing.T, rule *orchv1.RunTimeoutRule) (*world, *orchv1.FlowRun) {
		t.Helper()
		w := newWorld(t)
		w.set(rule)
		run := w.create(w.ofDeployment(1))
		require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, w.propose(run, pending).GetStatus())
		w.propose(run, running)
		require.NotZero(t, w.simulate([]*orchv1.FlowRun{run}, disturbance{}, func(elapsed time.Duration) bool { return elapsed == 0 }, time.Hour))
		return w, run
	}
	const accept, abort = orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT
	reschedule := &orchv1.RunTimeoutRule{OnMissedHeartbeats: orchv1.LostRunAction_LOST_RUN_ACTION_RESCHEDULE.Enum()}
	t.Run("its result replaces CRASHED", func(t *testing.T) {
		t.Parallel()
		w, run := lose(t, &orchv1.RunTimeoutRule{})
		w.beat(run, 0, 0)
		require.Zero(t, w.pass())
		require.Equal(t, crashed, w.read(run).GetState().GetType(), "a heartbeat changes no state")
		require.Equal(t, accept, w.propose(run, completed).GetStatus())
	})
	t.Run("its result ends a rescheduled run that nobody started", func(t *testing.T) {
		t.Parallel()
		w, run := lose(t, reschedule)
		require.Equal(t, abort, w.propose(run, running).GetStatus(), "it has no slot")
		require.Equal(t, accept, w.propose(run, completed).GetStatus())
		require.Equal(t, abort, w.propose(run, running).GetStatus(), "a worker that has just read the schedule")
	})
	t.Run("one start of two wins", func(t *testing.T) {
		t.Parallel()
		w, run := lose(t, reschedule)
		require.Equal(t, accept, w.propose(run, pending).GetStatus())
		require.Equal(t, accept, w.propose(run, running).GetStatus())
		require.Equal(t, abort, w.propose(run, running).GetStatus())
		require.Equal(t, accept, w.propose(run, completed).GetStatus())
	})
}

// A workspace with many runs takes a bounded amount of memory; the runs that have been running longest are judged.
func TestWatchesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ws := uuid.New()
	testkit.FillBound(t, "flow runs whose heartbeats the run monitor watches", maxWatchedBytes,
		func() bool { return !w.monitor.admit(ws) }, func() int { return w.monitor.watched[ws] * watchBytes })
	const entry = 2 * (16 + 8) // A key and a pointer in a map that is half full.
	require.LessOrEqual(t, int(unsafe.Sizeof(watch{}))+maxSender+entry, watchBytes)

	runs := w.running(2)
	w.pass()
	require.Len(t, w.monitor.watches, 2)
	w.propose(runs[0], completed)
	w.pass()
	require.Len(t, w.monitor.watches, 1, "runs that ended are forgotten")
}
