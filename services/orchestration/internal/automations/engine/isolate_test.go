package engine

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

var (
	errPoison = store.Permanent(errors.New("the document is refused"))
	errOutage = errors.New("the store is unavailable")
)

func TestIsolateRejectsOnlyWhatFailsPermanently(t *testing.T) {
	t.Parallel()
	var applied, rejected []int
	err := isolate([]int{1, 2, 3, 4, 5, 6, 7}, func(batch []int) error {
		if slices.Contains(batch, 3) || slices.Contains(batch, 6) {
			return errPoison
		}
		applied = append(applied, batch...)
		return nil
	}, func(n int, cause error) {
		require.Equal(t, errPoison, cause)
		rejected = append(rejected, n)
	})
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 4, 5, 7}, applied, "in their order")
	require.Equal(t, []int{3, 6}, rejected)
}

// Events are evaluated in their order, so an outage in the first half of a batch ends the evaluation.
func TestIsolateEndsAtATransientFailure(t *testing.T) {
	t.Parallel()
	var applied []int
	err := isolate([]int{1, 2, 3, 4}, func(batch []int) error {
		switch {
		case len(batch) == 4:
			return errPoison
		case batch[0] == 1:
			return errOutage
		}
		applied = append(applied, batch...)
		return nil
	}, func(int, error) { t.Error("nothing fails permanently") })
	require.ErrorIs(t, err, errOutage)
	require.Empty(t, applied)
}
