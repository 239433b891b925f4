package broker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
)

// modelStream is a stream with a consumer that settles so many events a second.
type modelStream struct {
	mu      sync.Mutex
	rate    float64 // Zero: the store is away.
	events  []int   // The cumulated events of its frames, from the beginning.
	settled int     // Frames.
	began   time.Time
}

func newModelStream(rate float64) *modelStream { return &modelStream{rate: rate, events: []int{0}} }

func (m *modelStream) publish(events int) (sequence uint64) {
	defer m.advance()()
	if m.settled == len(m.events)-1 {
		m.began = time.Now()
	}
	m.events = append(m.events, m.events[len(m.events)-1]+events)
	return uint64(len(m.events) - 1)
}

// advance locks the stream and settles the frames that the consumer has handled until now.
func (m *modelStream) advance() (unlock func()) {
	m.mu.Lock()
	for m.rate > 0 && m.settled < len(m.events)-1 {
		events := m.events[m.settled+1] - m.events[m.settled]
		done := m.began.Add(time.Duration(float64(events) / m.rate * float64(time.Second)))
		if done.After(time.Now()) {
			break
		}
		m.began = done
		m.settled++
	}
	return m.mu.Unlock
}

func (m *modelStream) position(context.Context) (consumerPosition, error) {
	defer m.advance()()
	return consumerPosition{at: time.Now(), pending: int64(len(m.events) - 1 - m.settled), settled: int64(m.settled)}, nil
}

func (m *modelStream) setRate(rate float64) {
	defer m.advance()()
	m.rate, m.began = rate, time.Now()
}

// pending is the number of unsettled events up to a frame; 0 means the last frame.
func (m *modelStream) pending(sequence uint64) int {
	defer m.advance()()
	if sequence == 0 {
		sequence = uint64(len(m.events) - 1)
	}
	return m.events[sequence] - m.events[m.settled]
}

// client publishes requests of so many events, one after the other, until ctx ends. Publishing takes the time that
// duration returns. Acknowledged gets the frame and the time of each request.
func (m *modelStream) client(ctx context.Context, f *flowControl, events int, duration func() time.Duration, acknowledged func(sequence uint64, took time.Duration)) {
	for {
		began := time.Now()
		if f.acquire(ctx, events, 0, nil) != nil {
			return
		}
		clock.Pause(ctx, duration())
		sequence := m.publish(events)
		f.published(sequence, events)
		f.release(events)
		if ctx.Err() != nil {
			return
		}
		acknowledged(sequence, time.Since(began))
	}
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func flowControlOf(m *modelStream) *flowControl {
	return newFlowControl(m.position, slog.New(slog.DiscardHandler))
}

// Under a flood an acknowledged event is stored within 5 s, the consumer never idles, and a client that sends single
// events is served soon: in less than 100 ms at the median.
func TestBackpressureBoundsTheBacklog(t *testing.T) {
	t.Parallel()
	const rate = 17_000.
	for _, c := range []struct {
		name                       string
		processes, clients, events int
		duration                   time.Duration // Of publishing a request.
	}{
		{"a few", 1, 8, 50, 9 * time.Millisecond},
		{"one", 1, 1, 256, 5 * time.Millisecond},
		{"many", 1, 1000, 50, time.Second},
		{"many of one event", 1, 400, 1, 8 * time.Millisecond},
		{"large requests", 1, 64, 1000, 100 * time.Millisecond},
		{"several processes", 5, 8, 50, 45 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				m := newModelStream(rate)
				var mu sync.Mutex
				latest := 0.
				var single []time.Duration
				for i := range c.processes {
					f := flowControlOf(m)
					go f.run(ctx)
					for range c.clients {
						go m.client(ctx, f, c.events, always(c.duration), func(sequence uint64, _ time.Duration) {
							mu.Lock()
							defer mu.Unlock()
							latest = max(latest, float64(m.pending(sequence))/rate)
						})
					}
					if i == 0 {
						go m.client(ctx, f, 1, always(time.Millisecond), func(_ uint64, took time.Duration) {
							mu.Lock()
							defer mu.Unlock()
							single = append(single, took)
						})
					}
				}
				for began := time.Now(); time.Since(began) < 20*time.Second; {
					<-time.After(97 * time.Millisecond)
					if time.Since(began) > 4*time.Second {
						require.NotZero(t, m.pending(0), "after %s", time.Since(began))
					}
				}
				cancel()
				synctest.Wait()
				slices.Sort(single)
				median := single[len(single)/2]
				t.Logf("stored %.1f s after the acknowledgement at the latest; a single event takes %s", latest, median)
				require.Less(t, latest, 5.)
				require.Less(t, median, 100*time.Millisecond)
			})
		})
	}
}

// The bound holds for any load and for any delay of the samples, as on a busy machine: it follows from the rule. Each
// seed is a rate, a set of clients, and delays of every sample and every request.
func TestBackpressureBoundForManySeeds(t *testing.T) {
	t.Parallel()
	seeds := 1000
	if testing.Short() {
		seeds = 100
	}
	worst := 0.
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) { worst = max(worst, floodBySeed(t, seed)) })
	}
	t.Logf("stored %.2f s after the acknowledgement at the latest", worst)
}

// floodBySeed returns after how many seconds, at the latest, an acknowledged event was stored.
func floodBySeed(t *testing.T, seed uint64) (latest float64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 15))
	var mu sync.Mutex
	upTo := func(d time.Duration) func() time.Duration {
		return func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration(random.Int64N(int64(d)) + 1)
		}
	}
	rate := 8_000 + random.Float64()*40_000
	m := newModelStream(rate)
	f := flowControlOf(m)
	sampleDelay := upTo(400 * time.Millisecond)
	f.sample = func(ctx context.Context) (consumerPosition, error) {
		clock.Pause(ctx, sampleDelay())
		position, err := m.position(ctx)
		clock.Pause(ctx, sampleDelay())
		return position, err
	}
	type load struct {
		events   int
		duration func() time.Duration
	}
	// All loads are drawn before the first goroutine draws a delay, so a seed always gives the same loads.
	loads := make([]load, 1+random.IntN(60))
	for i := range loads {
		loads[i] = load{200 + random.IntN(1500), upTo(time.Duration(1+random.IntN(300)) * time.Millisecond)}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go f.run(ctx)
	for _, l := range loads {
		go m.client(ctx, f, l.events, l.duration, func(sequence uint64, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			latest = max(latest, float64(m.pending(sequence))/rate)
		})
	}
	<-time.After(8 * time.Second)
	cancel()
	synctest.Wait()
	require.Less(t, latest, 5., "seed %d: %d clients, %.0f events stored a second", seed, len(loads), rate)
	return latest
}

// A store that is away delays nobody, whether there was a flood before or not.
func TestBackpressureEndsWithoutAStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := newModelStream(17_000)
		f := flowControlOf(m)
		go f.run(ctx)
		var mu sync.Mutex
		delayed := 0
		for range 10 { // 5,000 a second together.
			go m.client(ctx, f, 50, always(100*time.Millisecond), func(_ uint64, took time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				if took > 110*time.Millisecond {
					delayed++
				}
			})
		}
		during := func(d time.Duration) int {
			mu.Lock()
			before := delayed
			mu.Unlock()
			<-time.After(d)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return delayed - before
		}
		require.Zero(t, during(10*time.Second))
		m.setRate(0)
		require.Zero(t, during(time.Minute))
		require.Greater(t, m.pending(0), 290_000, "everything was taken")
		m.setRate(6_000)
		require.NotZero(t, during(5*time.Second), "the store is back, and behind")
		before := m.pending(0)
		during(5 * time.Second)
		require.Less(t, m.pending(0), before-10_000, "the backlog shrinks under load")
		m.setRate(0)
		during(3 * time.Second)
		require.Zero(t, during(10*time.Second))
		cancel()
		synctest.Wait()
	})
}

// A burst passes at full speed, also after times in which the consumer had little to do.
func TestBackpressureLetsBurstsPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := newModelStream(17_000)
		f := flowControlOf(m)
		go f.run(ctx)
		var mu sync.Mutex
		delayed := 0
		unless := func(expected time.Duration) func(uint64, time.Duration) {
			return func(_ uint64, took time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				if took > expected {
					delayed++
				}
			}
		}
		go m.client(ctx, f, 1, always(time.Millisecond), unless(time.Millisecond)) // A little, all the time.
		for range 3 {
			<-time.After(20 * time.Second)
			burst, end := context.WithTimeout(ctx, time.Second)
			for range 8 {
				go m.client(burst, f, 50, always(9*time.Millisecond), unless(9*time.Millisecond))
			}
			<-burst.Done()
			end()
		}
		cancel()
		synctest.Wait()
		require.Zero(t, delayed)
	})
}

// Waiting for credit ends with the context, with the connection, and in time.
func TestWaitingForCreditEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := flowControlOf(newModelStream(0))
		f.grant(0)
		acquire := func(ctx context.Context, timeout time.Duration, closing chan struct{}) (time.Duration, error) {
			began := time.Now()
			err := f.acquire(ctx, 1, timeout, closing)
			return time.Since(began), err
		}
		took, err := acquire(t.Context(), time.Second, nil)
		require.ErrorIs(t, err, ErrUnavailable)
		require.Equal(t, time.Second, took)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		took, err = acquire(ctx, time.Hour, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 300*time.Millisecond, took)
		closing := make(chan struct{})
		time.AfterFunc(400*time.Millisecond, func() { close(closing) })
		took, err = acquire(t.Context(), 0, closing)
		require.ErrorIs(t, err, ErrClosed)
		require.Equal(t, 400*time.Millisecond, took)
		require.True(t, f.queue.empty(), "requests that gave up do not take credit")
		time.AfterFunc(600*time.Millisecond, func() { f.grant(1) })
		took, err = acquire(t.Context(), 0, nil)
		require.NoError(t, err)
		require.Equal(t, 600*time.Millisecond, took)
		// A request is admitted while grant still holds the lock.
		admitted := func() int {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.admitted
		}
		require.Equal(t, 1, admitted())
		f.release(1)
		require.Zero(t, admitted())
	})
}

// An unreachable broker limits nothing.
func TestNoBackpressureWithoutABroker(t *testing.T) {
	t.Parallel()
	f := newFlowControl(func(context.Context) (consumerPosition, error) {
		return consumerPosition{}, errors.New("away")
	}, slog.New(slog.DiscardHandler))
	f.grant(-1000)
	f.refresh(t.Context(), &drainRate{})
	require.NoError(t, f.acquire(t.Context(), 1_000_000, 0, nil))
	require.NoError(t, f.acquire(t.Context(), 1_000_000, 0, nil))
}

// Small requests overtake large ones, requests of one size are served in order, and no request starves.
func TestFairQueue(t *testing.T) {
	t.Parallel()
	var q fairQueue
	for range 3 {
		q.push(100)
	}
	q.push(1)
	gone := q.push(2)
	q.push(3)
	require.True(t, q.remove(gone))
	require.False(t, q.remove(gone))
	var order []int
	for range 3 {
		order = append(order, q.pop())
	}
	require.Equal(t, []int{1, 3, 100}, order)
	for range 1000 { // Small requests that keep coming cannot hold the large ones back for long.
		q.push(1)
		if q.pop() == 100 {
			break
		}
	}
	require.Less(t, q.waiting.Len(), 110)
}

// The position of a consumer counts its frames.
func TestConsumerPosition(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	expect := func(settled, pending int64) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; { // The server counts acknowledgements asynchronously.
			got, err := c.position(t.Context(), DurablePersist)
			require.NoError(t, err)
			if got.settled == settled && got.pending == pending {
				return
			}
			require.True(t, time.Now().Before(deadline), "%+v", got)
		}
	}
	expect(0, 0)
	const frames = 5
	for range frames {
		require.NoError(t, c.Publisher().Publish(t.Context(), testEvent()))
	}
	expect(0, frames)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	require.NoError(t, c.Consume(ctx, DurablePersist, ConsumeOptions{MaxEvents: 1}, func(context.Context, []Event) error {
		switch seen++; seen {
		case 3:
			expect(2, 3)
		case frames:
			cancel()
		}
		return nil
	}))
	expect(frames, 0)
	require.NoError(t, c.Publisher().Publish(t.Context(), testEvent()))
	expect(frames, 1)
	_, err := c.position(t.Context(), "absent")
	require.ErrorIs(t, err, ErrUnavailable)
}

// Events of this process count exactly, however many frames they are in; events of other processes by the average.
func TestBacklog(t *testing.T) {
	t.Parallel()
	var b backlog
	position := consumerPosition{pending: 10}
	pending, settled := b.advance(position)
	require.Zero(t, pending+settled+b.others(position), "nothing of this process")
	for sequence := int64(1); sequence <= 10; sequence++ {
		b.add(2*sequence, 100)
	}
	position = consumerPosition{settled: 8, pending: 12}
	pending, settled = b.advance(position)
	require.InDelta(t, 600, pending, 0.1)
	require.InDelta(t, 400, settled, 0.1)
	require.InDelta(t, 600, b.others(position), 0.1)
	pending, settled = b.advance(consumerPosition{settled: 20})
	require.InDelta(t, 0, pending, 0.1)
	require.InDelta(t, 600, settled, 0.1)

	const frames = 100_000
	for sequence := range int64(frames) {
		b.add(21+sequence, 10)
		require.LessOrEqual(t, len(b.frames), maxTrackedFrames)
	}
	pending, _ = b.advance(consumerPosition{settled: 20})
	require.InDelta(t, 10*frames, pending, 0.1, "none is forgotten")
	pending, _ = b.advance(consumerPosition{settled: 20 + frames/2})
	require.InDelta(t, 5*frames, pending, frames/100, "joined frames count until the last of them is settled")
}

// Idle times of a consumer do not lower its drain rate, and times in which it has frames and processes none do.
func TestDrainRate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	var r drainRate
	frames := int64(0)
	sample := func(pending, settled float64) {
		now = now.Add(100 * time.Millisecond)
		if settled > 0 {
			frames++
		}
		r.add(consumerPosition{at: now, settled: frames, pending: int64(pending)}, pending, settled)
	}
	for range 30 {
		sample(0, 50)
		_, measured := r.perSecond()
		require.False(t, measured, "an idle consumer says nothing")
	}
	require.False(t, r.isStalled())
	sample(1000, 0)
	for range 20 {
		sample(1000, 200)
	}
	rate, measured := r.perSecond()
	require.True(t, measured)
	require.InDelta(t, 2000, rate, 0.1)
	for range 9 {
		sample(1000, 0)
		require.False(t, r.isStalled())
	}
	sample(1000, 0)
	require.True(t, r.isStalled())
	sample(1000, 1)
	require.False(t, r.isStalled())
}
