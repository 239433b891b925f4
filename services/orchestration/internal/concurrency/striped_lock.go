package concurrency

import (
	"context"

	"github.com/google/uuid"
)

// turns serialises changes of a limit within a process, because concurrent ones would only repeat their
// compare-and-set. Across replicas the compare-and-set itself serialises them.
type turns [64]chan struct{}

func newTurns() *turns {
	t := &turns{}
	for i := range t {
		t[i] = make(chan struct{}, 1)
	}
	return t
}

// take waits for the turn to change a document, and returns the function that ends it.
func (t *turns) take(ctx context.Context, id uuid.UUID) (func(), error) {
	turn := t[id[15]%uint8(len(t))]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
