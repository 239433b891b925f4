package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

// replicas are the limiters of processes that share one NATS server and a manual clock.
func replicas(t *testing.T, n int, now clock.Clock) []*Limiter {
	t.Helper()
	server := testkit.StartNATS(t, embeddednats.Options{})
	var all []*Limiter
	for range n {
		conn, err := broker.Connect(t.Context(), broker.Config{InProcess: server})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		store, err := OpenStore(t.Context(), conn)
		require.NoError(t, err)
		all = append(all, New(Options{States: store, Clock: now}))
	}
	return all
}

// TestRateOverReplicas: replicas with uneven traffic of several times the rate accept rate × time + burst together, within 5 %, and never more.
func TestRateOverReplicas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit   Limit
		traffic []int // Requests of each replica in a step.
		step    time.Duration
		steps   int
	}{
		"3 replicas, 100 in 1 s, uneven":          {Limit{100, time.Second, 100}, []int{90, 9, 1}, 100 * time.Millisecond, 100},
		"3 replicas, 100 in 1 s, burst 10":        {Limit{100, time.Second, 10}, []int{20, 4, 1}, 20 * time.Millisecond, 500},
		"3 replicas, 100 in 1 s, burst 1000":      {Limit{100, time.Second, 1000}, []int{200, 20, 5}, 100 * time.Millisecond, 50},
		"3 replicas, one without traffic":         {Limit{100, time.Second, 100}, []int{30, 0, 10}, 100 * time.Millisecond, 100},
		"3 replicas, 60 in a minute":              {Limit{60, time.Minute, 60}, []int{9, 3, 1}, time.Second, 120},
		"3 replicas, 3 in a minute":               {Limit{3, time.Minute, 3}, []int{2, 1, 1}, time.Second, 300},
		"3 replicas, 1 in 10 s, burst 1":          {Limit{1, 10 * time.Second, 1}, []int{2, 1, 1}, time.Second, 300},
		"3 replicas, 2000 in 1 s":                 {Limit{2000, time.Second, 2000}, []int{900, 90, 9}, 100 * time.Millisecond, 50},
		"10 replicas, 100 in 1 s, burst 20":       {Limit{100, time.Second, 20}, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 1}, 50 * time.Millisecond, 100},
		"1 replica, as in the single binary":      {Limit{100, time.Second, 50}, []int{50}, 100 * time.Millisecond, 100},
		"3 replicas, traffic just below the rate": {Limit{1000, time.Second, 100}, []int{60, 25, 5}, 100 * time.Millisecond, 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := clock.NewManual(start)
			all := replicas(t, len(c.traffic), now)
			accepted, sent := 0, 0
			for range c.steps {
				var mu sync.Mutex
				var group sync.WaitGroup
				for i, n := range c.traffic {
					sent += n
					group.Go(func() {
						bucket := all[i].Bucket("webhook.a", c.limit)
						for range n {
							full, wait, err := Take(t.Context(), 1, bucket)
							if err != nil {
								t.Error(err)
							}
							if full == nil {
								mu.Lock()
								accepted++
								mu.Unlock()
							} else if wait <= 0 {
								t.Error("a refusal without a time to wait")
							}
						}
					})
				}
				group.Wait()
				now.Advance(c.step)
				for _, limiter := range all {
					limiter.returnStock(t.Context(), leaseTime)
				}
			}
			allowed := float64(c.limit.Burst) + c.limit.gain(time.Duration(c.steps-1)*c.step)
			want := min(allowed, float64(sent))
			t.Logf("%d of %d requests accepted, %.0f allowed: %+.1f %%", accepted, sent, allowed, 100*(float64(accepted)/want-1))
			require.LessOrEqual(t, float64(accepted), allowed+rounding)
			require.InDelta(t, want, float64(accepted), max(1, want*0.05))
		})
	}
}

// Replicas never accept more than the burst and the gain since the start, and return their unused tokens, in any order of requests.
func TestReplicasNeverAcceptTooMany(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{
			Tokens: rapid.IntRange(1, 50).Draw(t, "tokens"), Per: time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second,
			Burst: rapid.IntRange(1, 100).Draw(t, "burst"),
		}
		now := clock.NewManual(start)
		shared := &local{values: map[string][]byte{}}
		var all []*Limiter
		for range rapid.IntRange(1, 5).Draw(t, "replicas") {
			all = append(all, New(Options{States: shared, Clock: now}))
		}
		taken := 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			limiter := rapid.SampledFrom(all).Draw(t, "replica")
			switch rapid.IntRange(0, 4).Draw(t, "action") {
			case 0:
				now.Advance(time.Duration(rapid.IntRange(1, 2000).Draw(t, "ms")) * time.Millisecond)
			case 1:
				limiter.returnStock(ctx, 0)
			default:
				n := rapid.IntRange(1, limit.Burst).Draw(t, "n")
				full, wait, err := Take(ctx, n, limiter.Bucket("a", limit))
				require.NoError(t, err)
				if full == nil {
					require.Zero(t, wait)
					taken += n
				}
			}
			allowed := float64(limit.Burst) + limit.gain(now.Now().Sub(start))
			require.LessOrEqual(t, float64(taken), allowed+rounding)
		}
		for _, limiter := range all {
			limiter.returnStock(ctx, 0)
			require.Empty(t, limiter.stocked)
		}
		now.Advance(time.Duration(float64(limit.Burst)/limit.rate()*float64(time.Second)).Round(time.Microsecond) + time.Microsecond)
		full, _, err := Take(ctx, limit.Burst, all[0].Bucket("a", limit))
		require.NoError(t, err)
		require.Nil(t, full, "the bucket is full again")
	})
}

// A refused request takes no token from any bucket.
func TestRefusedRequestsTakeNothing(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(start)
	limiter := New(Options{Clock: now})
	webhook := limiter.Bucket("webhook", Limit{1, time.Minute, 1})
	account := limiter.Bucket("account", Limit{2, time.Minute, 2})
	take := func(n int, buckets ...*Bucket) (*Bucket, time.Duration) {
		full, wait, err := Take(t.Context(), n, buckets...)
		require.NoError(t, err)
		return full, wait
	}
	full, _ := take(1, webhook, nil, account)
	require.Nil(t, full)
	for range 10 {
		full, wait := take(1, webhook, nil, account)
		require.Same(t, webhook, full)
		require.Equal(t, time.Minute, wait)
	}
	now.Advance(15 * time.Second)
	full, _ = take(1, nil, account)
	require.Nil(t, full, "the bucket of the account has given one token")
	full, wait := take(1, webhook, account)
	require.Same(t, webhook, full)
	require.Equal(t, 45*time.Second, wait, "the longest wait")
	full, wait = take(2, account)
	require.Same(t, account, full)
	require.Equal(t, 45*time.Second, wait, "half a token is there")
	full, _ = take(1000)
	require.Nil(t, full, "no bucket, no limit")
	full, _ = take(1000, nil, nil)
	require.Nil(t, full)
}

// Tokens that were taken before a change of the limit count against the new limit.
func TestAChangedLimitKeepsWhatWasTaken(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(start)
	limiter := New(Options{Clock: now})
	accepted := func(limit Limit) (n int) {
		for {
			full, _, err := Take(t.Context(), 1, limiter.Bucket("a", limit))
			require.NoError(t, err)
			if full != nil {
				return n
			}
			n++
		}
	}
	require.Equal(t, 3, accepted(Limit{3, time.Minute, 3}))
	now.Advance(leaseTime)
	require.Equal(t, 2, accepted(Limit{5, time.Minute, 5}), "two more than before")
	now.Advance(leaseTime)
	require.Zero(t, accepted(Limit{1, time.Minute, 1}), "fewer than before")
	now.Advance(time.Minute)
	require.Equal(t, 1, accepted(Limit{1, time.Minute, 1}))
	limiter.Forget("a")
	require.Zero(t, accepted(Limit{1, time.Minute, 1}), "the shared state remains")
}

// counted counts the requests to the shared states.
type counted struct {
	local
	mu       sync.Mutex
	requests int
	err      error
}

func (c *counted) Swap(ctx context.Context, key string, decide func([]byte) ([]byte, error)) error {
	c.mu.Lock()
	c.requests++
	err := c.err
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return c.local.Swap(ctx, key, decide)
}

// Tokens in stock and refusals need no request to the shared states, except a few a second.
func TestRequestsToTheSharedStatesAreFew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit    Limit
		requests int // In a second.
		most     int
	}{
		"no request":                         {Limit{10, time.Second, 10}, 0, 0},
		"far below the rate":                 {Limit{10_000, time.Second, 10_000}, 1000, 20},
		"a flood of an empty bucket":         {Limit{1, time.Hour, 1}, 100_000, 8},
		"a flood of a bucket that refills":   {Limit{10_000, time.Second, 100}, 100_000, 250},
		"a slow webhook, one lease for each": {Limit{10, time.Second, 10}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := clock.NewManual(start)
			states := &counted{local: local{values: map[string][]byte{}}}
			bucket := New(Options{States: states, Clock: now}).Bucket("a", c.limit)
			for range c.requests {
				_, _, err := Take(t.Context(), 1, bucket)
				require.NoError(t, err)
				now.Advance(time.Second / time.Duration(c.requests))
			}
			require.LessOrEqual(t, states.requests, c.most)
		})
	}
}

// TestAnOutageGivesTheStock: while the shared states are away, a bucket gives what is in stock, and then an error without a request for each.
func TestAnOutageGivesTheStock(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(start)
	states := &counted{local: local{values: map[string][]byte{}}}
	limiter := New(Options{States: states, Clock: now})
	bucket := limiter.Bucket("a", Limit{100, time.Second, 100})
	take := func() error {
		_, _, err := Take(t.Context(), 1, bucket)
		return err
	}
	for bucket.stock == 0 {
		require.NoError(t, take())
	}
	states.err = errors.New("away")
	for range bucket.stock {
		require.NoError(t, take())
	}
	before := states.requests
	for range 100 {
		require.ErrorIs(t, take(), states.err)
	}
	require.Equal(t, before+1, states.requests)
	states.err = nil
	now.Advance(leaseTimeout)
	require.NoError(t, take())
}

// TestALimitOutlivesASteppedClock: after a step back the limit refills from the new time on, and a failed lease is tried again.
func TestALimitOutlivesASteppedClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ failure error }{"an empty bucket": {}, "an outage": {errors.New("away")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := clock.NewManual(start)
			states := &counted{local: local{values: map[string][]byte{}}}
			bucket := New(Options{States: states, Clock: now}).Bucket("a", Limit{1, time.Minute, 1})
			accepted := func() bool {
				full, _, err := Take(t.Context(), 1, bucket)
				require.NoError(t, err)
				return full == nil
			}
			require.True(t, accepted())
			require.False(t, accepted())
			if c.failure != nil {
				states.err = c.failure
				now.Advance(leaseTime)
				_, _, err := Take(t.Context(), 1, bucket)
				require.ErrorIs(t, err, c.failure)
				states.err = nil
			}
			now.Advance(-time.Hour)
			require.False(t, accepted())
			now.Advance(time.Minute)
			require.True(t, accepted())
			require.False(t, accepted())
		})
	}
}

// TestALostStoreIsFull: a broker that restarts has lost the states. The limiters go on with full buckets.
func TestALostStoreIsFull(t *testing.T) {
	t.Parallel()
	server := testkit.StartNATS(t, embeddednats.Options{Dir: t.TempDir()})
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: server})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	store, err := OpenStore(t.Context(), conn)
	require.NoError(t, err)
	now := clock.NewManual(start)
	bucket := New(Options{States: store, Clock: now}).Bucket("a", Limit{1, time.Hour, 1})
	full, _, err := Take(t.Context(), 1, bucket)
	require.NoError(t, err)
	require.Nil(t, full)
	server.Stop(t)
	now.Advance(leaseTimeout)
	_, _, err = Take(t.Context(), 1, bucket)
	require.ErrorIs(t, err, broker.ErrUnavailable)
	server.Start(t)
	require.Eventually(t, func() bool {
		now.Advance(leaseTimeout)
		full, _, err := Take(t.Context(), 1, bucket)
		return err == nil && full == nil
	}, time.Minute, 10*time.Millisecond)
}

// TestStatesOfRatesAreBounded: beyond the bound the broker drops the state that nobody has changed for longest.
func TestStatesOfRatesAreBounded(t *testing.T) {
	t.Parallel()
	server := testkit.StartNATS(t, embeddednats.Options{})
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: server})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	store, err := OpenStore(t.Context(), conn)
	require.NoError(t, err)
	const size = 64 << 10
	i := 0
	testkit.FillBound(t, "states of rate limits in the broker", storeBytes, func() bool {
		_, err := store.Put(t.Context(), fmt.Sprintf("webhook.%d", i), make([]byte, size))
		require.NoError(t, err)
		i++
		_, err = store.Get(t.Context(), "webhook.0")
		return errors.Is(err, broker.ErrNotFound)
	}, func() int {
		status, err := conn.Status(t.Context())
		require.NoError(t, err)
		for _, stream := range status.Streams {
			if stream.Name == "KV_"+Store {
				return int(stream.Bytes)
			}
		}
		return 0
	})
	full, _, err := Take(t.Context(), 1, New(Options{States: store, Clock: store}).Bucket("webhook.a", Limit{1, time.Hour, 1}))
	require.NoError(t, err)
	require.Nil(t, full)
}
