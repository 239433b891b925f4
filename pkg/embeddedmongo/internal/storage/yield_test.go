package storage

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCompactionsYield: a compaction yields between keys, and waits at most as often as its share allows.
func TestCompactionsYield(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wait time.Duration // Of each yield.
		want time.Duration // For a second of work.
	}{
		"no other work":   {wait: 0, want: time.Second},
		"some other work": {wait: 64 * time.Microsecond, want: 2 * time.Second},
		"no idle moment":  {wait: 10 * time.Millisecond, want: (1 + maxYielded) * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				yields := 0
				y := newYielder()
				y.sched = func() {
					yields++
					<-time.After(c.wait)
				}
				began := time.Now()
				const keys = 1_000_000 // A microsecond each.
				for range keys / clockEvery {
					for range clockEvery - 1 {
						y.step()
					}
					<-time.After(clockEvery * time.Microsecond)
					y.step()
				}
				require.InEpsilon(t, c.want, time.Since(began), 0.02)
				require.Positive(t, yields)
			})
		})
	}
}

// TestCompactionsOfLargeDocumentsYield: few keys may be much work.
func TestCompactionsOfLargeDocumentsYield(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		yields := 0
		y := newYielder()
		y.sched = func() { yields++ }
		const keys = 64
		for range keys {
			<-time.After(time.Millisecond)
			y.step()
		}
		require.Equal(t, keys/clockEvery, yields)
	})
}
