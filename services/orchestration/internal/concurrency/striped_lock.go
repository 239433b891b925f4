package concurrency

import (
	"context"

	"github.com/google/uuid"
)

// stripedLock serialises changes of a limit within a process, because concurrent ones would only repeat their
// compare-and-set. Across replicas the compare-and-set itself serialises them.
type stripedLock [64]chan struct{}

func newStripedLock() *stripedLock {
	t := &stripedLock{}
	for i := range t {
		t[i] = make(chan struct{}, 1)
	}
	return t
}

// lock locks the stripe of a document, and returns the function that unlocks it.
func (t *stripedLock) lock(ctx context.Context, id uuid.UUID) (func(), error) {
	stripe := t[id[15]%uint8(len(t))]
	select {
	case stripe <- struct{}{}:
		return func() { <-stripe }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
