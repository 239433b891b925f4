package admission_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// work is what a step of TestOrderOfWaitingWork asks for.
type work struct {
	name string
	key  admission.Key
	cost int
}

// TestOrderOfWaitingWork: one piece of work runs, others wait in the given order, and begin in the wanted one.
func TestOrderOfWaitingWork(t *testing.T) {
	t.Parallel()
	a, b := admission.Workspace(uuid.New()), admission.Workspace(uuid.New())
	stranger := admission.Network(netip.MustParseAddr("203.0.113.7"))
	for _, c := range []struct {
		name    string
		running work
		waiting []work
		want    []string
	}{
		{
			"the work of a key begins in order",
			work{"", a, 1},
			[]work{{"large", a, 1000}, {"small", a, 1}},
			[]string{"large", "small"},
		},
		{
			"small work of another key overtakes",
			work{"", a, 1},
			[]work{{"large", a, 1000}, {"small", b, 1}},
			[]string{"small", "large"},
		},
		{
			"keys alternate",
			work{"", a, 10},
			[]work{{"a1", a, 10}, {"a2", a, 10}, {"a3", a, 10}, {"b1", b, 9}, {"b2", b, 9}, {"b3", b, 9}},
			[]string{"b1", "a1", "b2", "a2", "b3", "a3"},
		},
		{
			"large work does not starve",
			work{"", a, 1},
			[]work{{"large", a, 25}, {"b1", b, 10}, {"b2", b, 10}, {"b3", b, 10}},
			[]string{"b1", "b2", "large", "b3"},
		},
		{
			"clients without authentication compete like workspaces",
			work{"", a, 1},
			[]work{{"large", stranger, 1000}, {"small", b, 1}},
			[]string{"small", "large"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := admission.NewSemaphore(admission.Bounds{Total: 1, Queue: 10, Wait: time.Hour})
				release, err := s.Acquire(t.Context(), c.running.key, c.running.cost)
				require.NoError(t, err)
				var order []string
				var all sync.WaitGroup
				for _, w := range c.waiting {
					all.Go(func() {
						release, err := s.Acquire(t.Context(), w.key, w.cost)
						if err == nil {
							order = append(order, w.name) // Only one is in progress.
							release()
						}
					})
					synctest.Wait()
				}
				release()
				all.Wait()
				require.Equal(t, c.want, order)
			})
		})
	}
}

func TestBoundsOfASemaphore(t *testing.T) {
	t.Parallel()
	ws := admission.Workspace(uuid.New())
	for _, c := range []struct {
		name   string
		bounds admission.Bounds
		keys   []admission.Key // Of work that begins.
		next   admission.Key   // Of work that does not.
	}{
		{"of all keys", admission.Bounds{Total: 2}, []admission.Key{ws, admission.Workspace(uuid.New())}, admission.Workspace(uuid.New())},
		{"of one key", admission.Bounds{PerKey: 2}, []admission.Key{ws, ws, admission.Workspace(uuid.New())}, ws},
		{
			"of clients without authentication",
			admission.Bounds{Unauthenticated: 1},
			[]admission.Key{admission.Network(netip.MustParseAddr("203.0.113.7")), ws, ws},
			admission.Network(netip.MustParseAddr("198.51.100.1")),
		},
		{
			"of one network",
			admission.Bounds{PerKey: 1},
			[]admission.Key{admission.Network(netip.MustParseAddr("2001:db8:0:11::1"))},
			admission.Network(netip.MustParseAddr("2001:db8:0:22::1")),
		},
		{"of clients without an address", admission.Bounds{PerKey: 1}, []admission.Key{admission.Network(netip.Addr{})}, admission.Network(netip.Addr{})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := admission.NewSemaphore(c.bounds)
			for _, key := range c.keys {
				_, err := s.Acquire(t.Context(), key, 1)
				require.NoError(t, err)
			}
			_, err := s.Acquire(t.Context(), c.next, 1)
			require.ErrorIs(t, err, admission.ErrBusy, "none waits")
		})
	}
}

func TestWorkThatWaitsTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := admission.NewSemaphore(admission.Bounds{PerKey: 1, Queue: 1, Wait: time.Second})
		ws := admission.Workspace(uuid.New())
		release, err := s.Acquire(t.Context(), ws, 1)
		require.NoError(t, err)
		began := time.Now()
		_, err = s.Acquire(t.Context(), ws, 1)
		require.ErrorIs(t, err, admission.ErrBusy)
		require.Equal(t, time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = s.Acquire(ctx, ws, 1)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		go func() { _, _ = s.Acquire(t.Context(), ws, 1) }()
		synctest.Wait()
		_, err = s.Acquire(t.Context(), ws, 1)
		require.ErrorIs(t, err, admission.ErrBusy, "the queue is full")
		release()
	})
}

// TestWorkIsServedFairly asks for random work of random keys. Everything begins, and the bounds hold. While a key waits, no other key
// gets more service than it, beyond one piece of work for each slot and one more.
func TestWorkIsServedFairly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		total := rapid.IntRange(1, 3).Draw(rt, "total")
		const maxCost = 50
		keys := make([]admission.Key, rapid.IntRange(1, 4).Draw(rt, "keys"))
		for i := range keys {
			keys[i] = admission.Workspace(uuid.UUID{byte(i + 1)})
		}
		costs := map[int][]int{} // Of waiting work, by key.
		synctest.Test(t, func(t *testing.T) {
			s := admission.NewSemaphore(admission.Bounds{Total: total, Queue: 100, Wait: time.Hour})
			blocking := make([]func(), total)
			for i := range blocking {
				release, err := s.Acquire(t.Context(), admission.Workspace(uuid.UUID{99}), 1)
				require.NoError(t, err)
				blocking[i] = release
			}
			type begun struct{ key, cost int }
			var mu sync.Mutex
			var order []begun
			running := 0
			var all sync.WaitGroup
			for range rapid.IntRange(1, 30).Draw(rt, "works") {
				key, cost := rapid.IntRange(0, len(keys)-1).Draw(rt, "key"), rapid.IntRange(1, maxCost).Draw(rt, "cost")
				costs[key] = append(costs[key], cost)
				all.Go(func() {
					release, err := s.Acquire(t.Context(), keys[key], cost)
					if err != nil {
						panic(err)
					}
					mu.Lock()
					order = append(order, begun{key, cost})
					if running++; running > total {
						panic(fmt.Sprintf("%d run", running))
					}
					mu.Unlock()
					time.Sleep(time.Duration(cost)) //nolint:forbidigo // In the synctest bubble no real time passes.
					mu.Lock()
					running--
					mu.Unlock()
					release()
				})
				synctest.Wait()
			}
			for _, release := range blocking {
				release()
			}
			all.Wait()

			served, left := map[int]int{}, map[int]int{}
			for key, all := range costs {
				left[key] = len(all)
			}
			for _, b := range order {
				served[b.key] += b.cost
				left[b.key]--
				for key := range costs {
					if left[key] > 0 && served[b.key]-served[key] > (total+1)*maxCost {
						rt.Fatalf("key %d was served %d, key %d that waits %d", b.key, served[b.key], key, served[key])
					}
				}
			}
			for key, n := range left {
				if n != 0 {
					rt.Fatalf("%d works of key %d did not begin", n, key)
				}
			}
		})
	})
}
