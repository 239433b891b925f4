package concurrency

import (
	"context"

	"github.com/google/uuid"
)

// turns let the calls of one process change a limit one after the other: they would only make each other repeat their
// compare-and-set. Calls of other replicas are kept apart by the compare-and-set itself.
type turns [64]chan struct{}

func newTurns() *turns {
	t := &turns{}
	for i := range t {
		t[i] = make(chan struct{}, 1)
	}
	return t
}

// take waits for the turn to change a document, and returns what ends it.
func (t *turns) take(ctx context.Context, id uuid.UUID) (func(), error) {
	turn := t[id[15]%uint8(len(t))]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
