package admission_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/processors"
	"github.com/orch-project/orch/pkg/testkit"
)

// key names a workspace.
var key = admission.Workspace(uuid.MustParse("11111111-1111-4111-8111-111111111111"))

func TestAnAccountGetsHalf(t *testing.T) {
	t.Parallel()
	b := admission.New(100)
	first, second, other := b.Open("a", key), b.Open("a", key), b.Open("b", key)
	require.NoError(t, first.Charge(30))
	require.ErrorIs(t, second.Charge(21), admission.ErrExhausted, "both are of one account")
	require.NoError(t, second.Charge(20))
	require.NoError(t, other.Charge(50))
	require.ErrorIs(t, b.Open("c", key).Charge(1), admission.ErrExhausted, "the process has no more")
	require.EqualValues(t, 100, b.Used())

	first.Refund(10)
	require.NoError(t, b.Open("c", key).Charge(10), "a refund is free for every account")
	first.Close()
	second.Close()
	other.Close()
	require.EqualValues(t, 10, b.Used())
	require.NoError(t, b.Open("a", key).Charge(50))
}

func TestBudgetsFill(t *testing.T) {
	t.Parallel()
	b := admission.New(admission.DefaultMemory)
	first, second := b.Open("a", key), b.Open("b", key)
	testkit.FillBound(t, "bodies of requests, and frames of websockets", admission.DefaultMemory, func() bool {
		return first.Charge(1_000_000) != nil && second.Charge(1_000_000) != nil
	}, func() int { return int(b.Used()) })
	first.Close()
	require.LessOrEqual(t, b.Used(), int64(admission.DefaultMemory/2), "an account gets half")
}

func TestNothingIsReservedTwice(t *testing.T) {
	t.Parallel()
	b := admission.New(1000)
	var requests sync.WaitGroup
	for range 50 {
		requests.Go(func() {
			for range 100 {
				r := b.Open("a", key)
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
	var b *admission.Controller
	r := b.Open("a", key)
	require.NoError(t, r.Charge(1<<40))
	r.Refund(1)
	r.Close()
}

func TestProcessorsOfLargeRequests(t *testing.T) {
	t.Parallel()
	c := admission.New(1000)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	held := make([]*admission.Reservation, processors.Half())
	for i := range held {
		held[i] = c.Open("a", key)
		require.NoError(t, held[i].AcquireProcessor(t.Context(), 1))
		require.NoError(t, held[i].AcquireProcessor(t.Context(), 1), "a processor that it has")
	}
	require.ErrorIs(t, c.Open("b", key).AcquireProcessor(ended, 1), admission.ErrExhausted)
	require.NoError(t, c.Open("b", key).Charge(100), "a small request does not wait")

	next, acquired := c.Open("b", key), make(chan error)
	go func() { acquired <- next.AcquireProcessor(t.Context(), 1) }()
	held[0].ReleaseProcessor()
	require.NoError(t, <-acquired)
	held[0].Close() // It has released its processor already.
	require.ErrorIs(t, c.Open("c", key).AcquireProcessor(ended, 1), admission.ErrExhausted)
	for _, r := range append(held[1:], next) {
		r.Close()
	}
}

func TestComputedCallsReserve(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c := admission.New(1000)
	_, err := c.Compute(t.Context(), 100)
	require.ErrorIs(t, err, admission.ErrExhausted, "its memory is a multiple of its request")
	held := make([]*admission.Reservation, processors.Half())
	for i := range held {
		held[i], err = c.Compute(t.Context(), 1)
		require.NoError(t, err)
	}
	_, err = c.Compute(ended, 1)
	require.ErrorIs(t, err, admission.ErrExhausted, "large work, however small its request is")
	for _, r := range held {
		r.Close()
	}
	require.Zero(t, c.Used())
	none, err := (*admission.Controller)(nil).Compute(ended, 1<<40)
	require.NoError(t, err, "no bounds")
	none.Close()
}
