package run

import "context"

// Worker is one long-living part of a service.
type Worker interface {
	// Name tells the worker from others in logs and health reports.
	Name() string

	// Run works until ctx ends and then returns nil or the error of ctx. What is in flight at that moment may be
	// finished under Grace(ctx). Every other return is a failure, and ends the group.
	Run(ctx context.Context) error
}

// Readier is implemented by workers that others build upon, such as an embedded server: the workers after it are started
// when the channel is closed.
type Readier interface {
	Ready() <-chan struct{}
}

// Func is a worker that runs f.
func Func(name string, f func(ctx context.Context) error) Worker { return &funcWorker{name, f} }

type funcWorker struct {
	name string
	run  func(ctx context.Context) error
}

func (w *funcWorker) Name() string                  { return w.name }
func (w *funcWorker) Run(ctx context.Context) error { return w.run(ctx) }

type graceKey struct{}

// Grace is the context for what a worker still does after its ctx has ended: it has the values of ctx, and ends when the
// group's StopTimeout is over. Outside of a group it does not end.
func Grace(ctx context.Context) context.Context {
	if g, ok := ctx.Value(graceKey{}).(context.Context); ok {
		return graceful{Context: g, values: ctx}
	}
	return context.WithoutCancel(ctx)
}

// graceful ends as Context does and has the values of another context.
type graceful struct {
	context.Context
	values context.Context
}

func (g graceful) Value(key any) any { return g.values.Value(key) }
