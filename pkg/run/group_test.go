package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// journal records events in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

// server is a worker that takes time to become ready and to stop.
type server struct {
	journal        *journal
	name           string
	ready          chan struct{}
	starts, drains time.Duration
}

func (j *journal) server(name string, starts, drains time.Duration) *server {
	return &server{journal: j, name: name, ready: make(chan struct{}), starts: starts, drains: drains}
}

func (s *server) Name() string           { return s.name }
func (s *server) Ready() <-chan struct{} { return s.ready }

func (s *server) Run(ctx context.Context) error {
	s.journal.note("start " + s.name)
	select {
	case <-time.After(s.starts):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.journal.note("ready " + s.name)
	close(s.ready)
	<-ctx.Done()
	s.journal.note("stop " + s.name)
	select {
	case <-time.After(s.drains):
		s.journal.note("stopped " + s.name)
		return ctx.Err()
	case <-run.Grace(ctx).Done():
		s.journal.note("cut off " + s.name)
		return errors.New("cut off")
	}
}

func group(o run.Options, workers ...run.Worker) *run.Group {
	o.Logger = slog.New(slog.DiscardHandler)
	g := run.NewGroup(o)
	g.Add(workers...)
	return g
}

// launch runs g and returns a channel with its result.
func launch(ctx context.Context, g *run.Group) <-chan error {
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	return done
}

func TestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		g := group(run.Options{DrainDelay: 3 * time.Second},
			j.server("store", time.Second, time.Second), j.server("api", 0, time.Second))
		require.Equal(t, run.New, g.Health().Ready().Phase)
		ctx, cancel := context.WithCancel(t.Context())
		done := launch(ctx, g)
		synctest.Wait()
		require.Equal(t, []string{"start store"}, j.all(), "the next waits until it is ready")
		require.False(t, g.Health().Ready().OK)
		require.True(t, g.Health().Live().OK)
		time.Sleep(time.Second) //nolint:forbidigo // In the synctest bubble.
		synctest.Wait()
		require.True(t, g.Health().Ready().OK)

		cancel()
		synctest.Wait()
		require.Equal(t, run.Draining, g.Health().Ready().Phase)
		require.False(t, g.Health().Ready().OK, "not ready before anything stops")
		require.True(t, g.Health().Live().OK)
		require.NotContains(t, j.all(), "stop api")
		require.NoError(t, <-done)
		require.Equal(t, []string{
			"start store", "ready store", "start api", "ready api",
			"stop api", "stopped api", "stop store", "stopped store",
		}, j.all())
		require.Equal(t, run.Stopped, g.Health().Live().Phase)
	})
}

func TestFailureEndsTheGroup(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		returned error
		text     string
	}{
		"an error": {broken, "worker feed: broken"},
		"nil":      {nil, "worker feed: returned before shutdown"},
		"canceled": {context.Canceled, "worker feed: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var j journal
				store := j.server("store", 0, time.Second)
				g := group(run.Options{DrainDelay: time.Hour}, store, run.Func("feed", func(context.Context) error {
					time.Sleep(time.Minute) //nolint:forbidigo // In the synctest bubble.
					return test.returned
				}))
				started := time.Now()
				err := g.Run(t.Context())
				require.EqualError(t, err, test.text)
				require.Equal(t, time.Minute+time.Second, time.Since(started), "no drain delay")
				require.Contains(t, j.all(), "stopped store")
				require.False(t, g.Health().Live().OK)
				require.Contains(t, g.Health().Live().Checks, run.Item{Name: "feed", Error: test.text})
			})
		})
	}
}

func TestEndWhileStarting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		ctx, cancel := context.WithCancel(t.Context())
		done := launch(ctx, group(run.Options{}, j.server("store", time.Minute, 0), j.server("api", 0, 0)))
		synctest.Wait()
		cancel()
		require.NoError(t, <-done)
		require.NotContains(t, j.all(), "start api")

		var feeble run.Worker = &neverReady{}
		require.EqualError(t, group(run.Options{}, feeble, j.server("api", 0, 0)).Run(t.Context()), "worker feeble: no")
		require.NotContains(t, j.all(), "start api")
	})
}

type neverReady struct{}

func (*neverReady) Name() string              { return "feeble" }
func (*neverReady) Ready() <-chan struct{}    { return nil }
func (*neverReady) Run(context.Context) error { return errors.New("no") }

func TestStopTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		ctx, cancel := context.WithCancel(t.Context())
		g := group(run.Options{StopTimeout: 10 * time.Second}, j.server("first", 0, 0), j.server("slow", 0, time.Hour))
		done := launch(ctx, g)
		synctest.Wait()
		cancel()
		started := time.Now()
		err := <-done
		require.ErrorIs(t, err, run.ErrStopTimeout)
		require.ErrorContains(t, err, "[first slow]")
		require.Equal(t, 10*time.Second, time.Since(started))
		synctest.Wait()
		require.Contains(t, j.all(), "cut off slow")
		require.Contains(t, j.all(), "stop first")
	})
}

func TestFailureWhileStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("lost a write")
		ctx, cancel := context.WithCancel(t.Context())
		done := launch(ctx, group(run.Options{}, run.Func("store", func(ctx context.Context) error {
			<-ctx.Done()
			return lost
		})))
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-done, lost)
	})
}

// A step waits for a prerequisite: the service is live and not ready meanwhile, and the step adds the workers that need it.
func TestStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		ctx, cancel := context.WithCancel(t.Context())
		g := group(run.Options{}, j.server("internal", 0, 0))
		available := make(chan struct{})
		g.AddStep("database", func(ctx context.Context) error {
			select {
			case <-available:
				g.Add(j.server("api", 0, 0))
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		done := launch(ctx, g)
		synctest.Wait()
		require.True(t, g.Health().Live().OK)
		require.Equal(t, run.Starting, g.Health().Ready().Phase)
		require.Contains(t, g.Health().Ready().Checks, run.Item{Name: "database", Error: "in progress"})
		close(available)
		synctest.Wait()
		work := "building"
		g.Health().Note("indexes", func() string { return work })
		require.True(t, g.Health().Ready().OK, "a note does not affect readiness")
		require.Contains(t, g.Health().Ready().Checks, run.Item{Name: "indexes", OK: true, Note: "building"})
		work = ""
		require.NotContains(t, g.Health().Ready().Checks, run.Item{Name: "indexes", OK: true})
		require.True(t, g.Health().Ready().OK)
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, []string{
			"start internal", "ready internal", "start api", "ready api",
			"stop api", "stopped api", "stop internal", "stopped internal",
		}, j.all())
	})
}

func TestStepEndsEarly(t *testing.T) {
	t.Parallel()
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	t.Run("by an error of its own", func(t *testing.T) {
		t.Parallel()
		refused := errors.New("refused")
		var j journal
		g := group(run.Options{}, j.server("internal", 0, 0))
		g.AddStep("database", func(context.Context) error { return refused })
		require.EqualError(t, g.Run(t.Context()), "refused", "the error as it is")
		require.Contains(t, j.all(), "stopped internal")
	})
	t.Run("by the end of the process", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		g := group(run.Options{})
		g.AddStep("database", func(ctx context.Context) error {
			cancel()
			return wait(ctx)
		})
		require.NoError(t, g.Run(ctx))
	})
	t.Run("by a failed worker", func(t *testing.T) {
		t.Parallel()
		g := group(run.Options{}, run.Func("internal", func(context.Context) error { return errors.New("no address") }))
		g.AddStep("database", wait)
		require.EqualError(t, g.Run(t.Context()), "worker internal: no address")
	})
}

type key struct{}

func TestGrace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
	cancel()
	require.NoError(t, run.Grace(ctx).Err(), "outside of a group it does not end")
	require.Equal(t, "kept", run.Grace(ctx).Value(key{}))

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		err := launch(ctx, group(run.Options{}, run.Func("w", func(ctx context.Context) error {
			<-ctx.Done()
			require.NoError(t, run.Grace(ctx).Err())
			require.Equal(t, "kept", run.Grace(ctx).Value(key{}))
			return nil
		})))
		synctest.Wait()
		cancel()
		require.NoError(t, <-err)
	})
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away error
		g := group(run.Options{}, run.Func("w", func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}))
		g.Health().Check("broker", func() error { return away })
		ctx, cancel := context.WithCancel(t.Context())
		done := launch(ctx, g)
		synctest.Wait()

		get := func(ready bool) (int, run.Report) {
			w := httptest.NewRecorder()
			h := g.Health().LiveHandler()
			if ready {
				h = g.Health().ReadyHandler()
			}
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			var r run.Report
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &r))
			return w.Code, r
		}
		code, report := get(true)
		require.Equal(t, 200, code)
		require.Equal(t, run.Report{OK: true, Phase: run.Running, Checks: []run.Item{
			{Name: "w", OK: true}, {Name: "broker", OK: true},
		}}, report)

		away = errors.New("away")
		code, report = get(true)
		require.Equal(t, 503, code)
		require.Contains(t, report.Checks, run.Item{Name: "broker", Error: "away"})
		code, _ = get(false)
		require.Equal(t, 200, code, "a prerequisite that is away is no reason to restart")
		cancel()
		require.NoError(t, <-done)
	})
}
