package admission_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/admission"
)

// BenchmarkSemaphore acquires and releases while clients of other networks wait. Its cost must not grow with their number.
func BenchmarkSemaphore(b *testing.B) {
	network := func(n int) admission.Key {
		return admission.Network(netip.AddrFrom4([4]byte{10, byte(n >> 8), byte(n), 0}))
	}
	for _, waiting := range []int{10, 1000, 50_000} {
		b.Run(fmt.Sprintf("%d networks wait", waiting), func(b *testing.B) {
			s := admission.NewSemaphore(admission.Bounds{Total: 2, Unauthenticated: 1, Queue: 1, Wait: time.Hour})
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			_, err := s.Acquire(ctx, network(0), 1)
			require.NoError(b, err)
			var all, queued sync.WaitGroup
			for n := range waiting {
				queued.Add(1)
				all.Go(func() {
					queued.Done()
					_, _ = s.Acquire(ctx, network(n+1), 1)
				})
			}
			queued.Wait()
			workspace := admission.Workspace(uuid.New())
			for b.Loop() {
				release, err := s.Acquire(ctx, workspace, 1)
				require.NoError(b, err)
				release()
			}
			cancel()
			all.Wait()
		})
	}
}
