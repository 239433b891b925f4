package action

import (
	"context"
	"fmt"

	"github.com/orch-project/orch/pkg/processors"
)

// maxRenderings bounds the templates that are rendered at once: each may allocate and compute what its budget permits. Templates that read
// runs or variables wait for the database, so there are more than processors; those over small events never wait for large ones alone.
var maxRenderings = min(2*maxShare, max(2*maxLargeRenderings, 2*processors.Count()))

const (
	// largeEvents is the length of events in bytes above which the values that a template reads take memory beside the budget: up to a hundred
	// times the length. maxLargeRenderings bounds the templates over such events.
	largeEvents        = 64 << 10
	maxLargeRenderings = 2
)

// Renderings bounds the templates over events that a process renders at once.
type Renderings struct{ all, large chan struct{} }

// NewRenderings returns the bounds of a process.
func NewRenderings() *Renderings {
	return &Renderings{all: make(chan struct{}, maxRenderings), large: make(chan struct{}, maxLargeRenderings)}
}

// Begin waits until a template over events of so many bytes may be rendered. The caller makes the values of the events afterwards, and calls
// end.
func (r *Renderings) Begin(ctx context.Context, bytes int) (end func(), err error) {
	bounds := []chan struct{}{r.all}
	if bytes > largeEvents {
		bounds = []chan struct{}{r.large, r.all} // In this order, large ones that wait delay no small ones.
	}
	for i, slots := range bounds {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			release(bounds[:i])
			return nil, fmt.Errorf("wait for other templates: %w", ctx.Err())
		}
	}
	return func() { release(bounds) }, nil
}

func release(bounds []chan struct{}) {
	for _, slots := range bounds {
		<-slots
	}
}
