package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBenchRuns runs every measurement on few documents. Ratios of such a run mean nothing, so missed goals are no failure.
func TestBenchRuns(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), 1000, 10*time.Millisecond, t.TempDir())
	if err != nil {
		require.ErrorContains(t, err, "goals missed")
	}
}
