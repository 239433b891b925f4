package engine

import "github.com/orch-project/orch/services/orchestration/internal/store"

// isolate applies a batch in its order. It halves a batch that fails permanently until the failing item is alone, and
// rejects that item with its own cause. Any other error ends it at once: later items must not overtake those that failed.
func isolate[T any](batch []T, apply func([]T) error, reject func(T, error)) error {
	err := apply(batch)
	switch {
	case err == nil || !store.IsPermanent(err):
		return err
	case len(batch) == 1:
		reject(batch[0], err)
		return nil
	}
	half := len(batch) / 2
	if err := isolate(batch[:half], apply, reject); err != nil {
		return err
	}
	return isolate(batch[half:], apply, reject)
}
