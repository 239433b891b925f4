package membudget_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/membudget"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnAccountGetsHalf(t *testing.T) {
	t.Parallel()
	b := membudget.New(100)
	first, second, other := b.Open("a"), b.Open("a"), b.Open("b")
	require.NoError(t, first.Charge(30))
	require.ErrorIs(t, second.Charge(21), membudget.ErrExhausted, "both are of one account")
	require.NoError(t, second.Charge(20))
	require.NoError(t, other.Charge(50))
	require.ErrorIs(t, b.Open("c").Charge(1), membudget.ErrExhausted, "the process has no more")
	require.EqualValues(t, 100, b.Used())

	first.Refund(10)
	require.NoError(t, b.Open("c").Charge(10), "a refund is free for every account")
	first.Close()
	second.Close()
	other.Close()
	require.EqualValues(t, 10, b.Used())
	require.NoError(t, b.Open("a").Charge(50))
}

func TestBudgetsFill(t *testing.T) {
	t.Parallel()
	b := membudget.New(membudget.Default)
	first, second := b.Open("a"), b.Open("b")
	testkit.FillBound(t, "bodies of requests", membudget.Default, func() bool {
		return first.Charge(1_000_000) != nil && second.Charge(1_000_000) != nil
	}, func() int { return int(b.Used()) })
	first.Close()
	require.LessOrEqual(t, b.Used(), int64(membudget.Default/2), "an account gets half")
}

func TestNothingIsReservedTwice(t *testing.T) {
	t.Parallel()
	b := membudget.New(1000)
	var requests sync.WaitGroup
	for range 50 {
		requests.Go(func() {
			for range 100 {
				r := b.Open("a")
				for r.Charge(7) == nil {
				}
				r.Refund(21)
				r.Close()
			}
		})
	}
	requests.Wait()
	require.Zero(t, b.Used())
}

func TestWithoutABudgetNothingIsRefused(t *testing.T) {
	t.Parallel()
	var b *membudget.Budget
	r := b.Open("a")
	require.NoError(t, r.Charge(1<<40))
	r.Refund(1)
	r.Close()
}

func TestLargeRequestsTakeTurns(t *testing.T) { //nolint:paralleltest // The turns are those of the process.
	b, another := membudget.New(1000), membudget.New(1000)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	held := make([]*membudget.Reservation, max(1, runtime.GOMAXPROCS(0)/2))
	for i := range held {
		held[i] = b.Open("a")
		require.NoError(t, held[i].AcquireProcessor(t.Context()))
		require.NoError(t, held[i].AcquireProcessor(t.Context()), "a processor that it has")
	}
	require.ErrorIs(t, another.Open("b").AcquireProcessor(ended), membudget.ErrExhausted, "all budgets share the processors")
	require.NoError(t, b.Open("b").Charge(100), "a small request does not wait")

	next, taken := b.Open("b"), make(chan error)
	go func() { taken <- next.AcquireProcessor(t.Context()) }()
	held[0].ReleaseProcessor()
	require.NoError(t, <-taken)
	held[0].Close() // Its turn has ended already.
	require.ErrorIs(t, b.Open("c").AcquireProcessor(ended), membudget.ErrExhausted)
	for _, r := range append(held[1:], next) {
		r.Close()
	}
}
