package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// ErrStopTimeout reports workers that did not return within Options.StopTimeout.
var ErrStopTimeout = errors.New("run: workers did not stop in time")

// Options configure a Group. The zero value selects the defaults.
type Options struct {
	// DrainDelay is the time between the readiness change and the stop of the workers, for load balancers to notice.
	// Default 0.
	DrainDelay time.Duration
	// StopTimeout bounds the stop of all workers together. Default 20 s.
	StopTimeout time.Duration
	// Logger logs starts, stops and failures. Default slog.Default().
	Logger *slog.Logger
}

// Group runs workers. Create it with NewGroup, Add the workers, and Run it once.
type Group struct {
	opts    Options
	log     *slog.Logger
	health  *Health
	workers []*running
}

// running is a supervised worker, or a step of the start.
type running struct {
	Worker
	step func(ctx context.Context) error // Nil for a worker.
	part *part
	stop context.CancelFunc
	done chan struct{} // Closed when Run has returned.
	err  error         // The result of Run. Read it only after done.
}

// NewGroup returns an empty group.
func NewGroup(o Options) *Group {
	if o.StopTimeout == 0 {
		o.StopTimeout = 20 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Group{opts: o, log: o.Logger.With("component", "run"), health: &Health{phase: New}}
}

// Add appends workers in dependency order: a worker may rely on those before it. After Run only a step may call it.
func (g *Group) Add(workers ...Worker) {
	for _, w := range workers {
		g.workers = append(g.workers, &running{Worker: w, part: g.health.addPart(w.Name())})
	}
}

// AddStep appends a step of the start, such as waiting for a database. It runs once, after the workers before it have
// started; it may Add the workers and checks that follow. The group is not ready meanwhile. Its context ends with Run's.
// An error ends the group, and Run returns it as it is.
func (g *Group) AddStep(name string, step func(ctx context.Context) error) {
	part := g.health.addPart(name)
	part.pending = true
	g.workers = append(g.workers, &running{Worker: Func(name, nil), step: step, part: part})
}

// Health returns the state of the group, for /health and /ready.
func (g *Group) Health() *Health { return g.health }

// Run starts the workers, waits until ctx or a worker ends, and stops them. It returns nil after an orderly stop.
// Otherwise it joins the error of the worker that ended first, ErrStopTimeout, and the errors of stopping.
func (g *Group) Run(ctx context.Context) error {
	grace, endGrace := context.WithCancel(context.WithoutCancel(ctx))
	defer endGrace()
	ended := make(chan *running, 1) // For the first worker that ends; a later one has no effect.

	g.health.enter(Starting)
	started, failed := g.start(ctx, grace, ended)
	if failed == nil && ctx.Err() == nil {
		g.health.enter(Running)
		g.log.InfoContext(ctx, "running", "workers", len(started))
		select {
		case <-ctx.Done():
		case failed = <-ended:
		}
	}
	var err error
	if failed != nil {
		err = g.failure(ctx, failed)
	}

	g.health.enter(Draining)
	if failed == nil && g.opts.DrainDelay > 0 {
		select {
		case <-time.After(g.opts.DrainDelay):
		case failed = <-ended:
			err = g.failure(ctx, failed)
		}
	}

	g.health.enter(Stopping)
	err = errors.Join(err, g.stop(ctx, started, failed, endGrace))
	g.health.enter(Stopped)
	return err
}

// start starts the workers in order, until ctx ends or one of them does.
func (g *Group) start(ctx, grace context.Context, ended chan *running) (started []*running, failed *running) {
	// Workers end one after the other, not with ctx.
	base := context.WithValue(context.WithoutCancel(ctx), graceKey{}, grace)
	for i := 0; i < len(g.workers); i++ { //nolint:intrange // A step may append workers.
		w := g.workers[i]
		if w.step != nil {
			if failed := g.runStep(ctx, w, ended); failed != nil || ctx.Err() != nil && w.err != nil {
				return started, failed
			}
			continue
		}
		var workCtx context.Context
		workCtx, w.stop = context.WithCancel(base)
		w.done = make(chan struct{})
		go func() {
			w.err = w.Run(workCtx)
			close(w.done)
			select {
			case ended <- w:
			default:
			}
		}()
		started = append(started, w)
		var ready <-chan struct{}
		if r, ok := w.Worker.(Readier); ok {
			ready = r.Ready()
		} else {
			continue
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return started, nil
		case failed = <-ended:
			return started, failed
		}
	}
	return started, nil
}

// runStep runs one step, and ends it early when a worker fails. It returns what ends the group: the step or that worker.
func (g *Group) runStep(ctx context.Context, w *running, ended <-chan *running) (failed *running) {
	stepCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.step(stepCtx) }()
	select {
	case w.err = <-done:
	case failed = <-ended:
		cancel()
		w.err = <-done
		return failed
	}
	if w.err == nil {
		g.health.finish(w.part)
		return nil
	}
	if ctx.Err() != nil {
		return nil
	}
	return w
}

// failure reports a worker that returned while it should run, or a failed step.
func (g *Group) failure(ctx context.Context, w *running) error {
	err := w.err
	if w.step != nil {
		g.health.fail(w.part, err)
		return err
	}
	if err == nil {
		err = errors.New("returned before shutdown")
	}
	err = fmt.Errorf("worker %s: %w", w.Name(), err)
	g.health.fail(w.part, err)
	g.log.ErrorContext(ctx, "failed to keep a worker running, stopping", "worker", w.Name(), "error", err)
	return err
}

// stop ends the workers in reverse order. After the timeout it cancels the remaining ones and does not wait for them.
func (g *Group) stop(ctx context.Context, started []*running, failed *running, endGrace func()) error {
	timeout := time.NewTimer(g.opts.StopTimeout)
	defer timeout.Stop()
	var errs []error
	for i, w := range slices.Backward(started) {
		w.stop()
		select {
		case <-w.done:
		case <-timeout.C:
			return errors.Join(append(errs, g.giveUp(ctx, started[:i+1], endGrace))...)
		}
		if w != failed && w.err != nil && !errors.Is(w.err, context.Canceled) {
			g.log.ErrorContext(ctx, "failed to stop worker", "worker", w.Name(), "error", w.err)
			errs = append(errs, fmt.Errorf("stop worker %s: %w", w.Name(), w.err))
		}
	}
	return errors.Join(errs...)
}

// giveUp cancels the remaining workers and names them.
func (g *Group) giveUp(ctx context.Context, left []*running, endGrace func()) error {
	endGrace()
	var names []string
	for _, w := range left {
		w.stop()
		names = append(names, w.Name())
	}
	g.log.ErrorContext(ctx, "workers did not stop in time", "workers", names)
	return fmt.Errorf("%w: %v", ErrStopTimeout, names)
}
