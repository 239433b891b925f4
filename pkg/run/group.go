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

// running is a supervised worker.
type running struct {
	Worker
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

// Add appends workers in dependency order: a worker may rely on those before it. Do not call it after Run.
func (g *Group) Add(workers ...Worker) {
	for _, w := range workers {
		g.workers = append(g.workers, &running{Worker: w, part: g.health.addPart(w.Name())})
	}
}

// Health returns the state of the group, for /health and /ready.
func (g *Group) Health() *Health { return g.health }

// Run starts the workers, waits until ctx or a worker ends, and stops them. It returns nil after an orderly stop.
// Otherwise it joins the error of the worker that ended first, ErrStopTimeout, and the errors of stopping.
func (g *Group) Run(ctx context.Context) error {
	grace, endGrace := context.WithCancel(context.WithoutCancel(ctx))
	defer endGrace()
	ended := make(chan *running, len(g.workers)) // One slot per worker, so that senders never block.

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
	for _, w := range g.workers {
		var workCtx context.Context
		workCtx, w.stop = context.WithCancel(base)
		w.done = make(chan struct{})
		go func() {
			w.err = w.Run(workCtx)
			close(w.done)
			ended <- w
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

// failure reports a worker that returned while it should run.
func (g *Group) failure(ctx context.Context, w *running) error {
	err := w.err
	if err == nil {
		err = errors.New("returned before shutdown")
	}
	err = fmt.Errorf("worker %s: %w", w.Name(), err)
	g.health.fail(w.part, err)
	g.log.ErrorContext(ctx, "worker failed, stopping", "worker", w.Name(), "error", err)
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
			g.log.ErrorContext(ctx, "stop worker", "worker", w.Name(), "error", w.err)
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
