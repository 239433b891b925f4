package run

import "context"

// Worker is one long-running part of a service.
type Worker interface {
	// Name identifies the worker in logs and health reports.
	Name() string

	// Run works until ctx ends and then returns nil or the error of ctx. It may finish in-flight work under Grace(ctx).
	// Any other return is a failure and ends the group.
	Run(ctx context.Context) error
}

// Readier is implemented by workers that others depend on, such as an embedded server. The next worker starts after the
// channel is closed.
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

// Grace returns the context for work after ctx has ended. It has the values of ctx and ends at the group's StopTimeout.
// Outside a group it does not end.
func Grace(ctx context.Context) context.Context {
	if g, ok := ctx.Value(graceKey{}).(context.Context); ok {
		return graceful{Context: g, values: ctx}
	}
	return context.WithoutCancel(ctx)
}

// graceful combines the end of Context with the values of another context.
type graceful struct {
	context.Context
	values context.Context
}

func (g graceful) Value(key any) any { return g.values.Value(key) }
