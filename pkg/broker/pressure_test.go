package broker

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// flooded is a stream, and a consumer of it that settles so many events a second.
type flooded struct {
	mu      sync.Mutex
	rate    float64 // Zero: the store is away.
	events  []int   // In the stream with each of its frames, from its beginning.
	settled int     // Frames.
	began   time.Time
}

func flood(rate float64) *flooded { return &flooded{rate: rate, events: []int{0}} }

func (f *flooded) publish(events int) (number uint64) {
	defer f.settle()()
	if f.settled == len(f.events)-1 {
		f.began = time.Now()
	}
	f.events = append(f.events, f.events[len(f.events)-1]+events)
	return uint64(len(f.events) - 1)
}

// settle settles what could be settled until now, and leaves the rest to the caller until it calls what it is given.
func (f *flooded) settle() (unlock func()) {
	f.mu.Lock()
	for f.rate > 0 && f.settled < len(f.events)-1 {
		events := f.events[f.settled+1] - f.events[f.settled]
		done := f.began.Add(time.Duration(float64(events) / f.rate * float64(time.Second)))
		if done.After(time.Now()) {
			break
		}
		f.began = done
		f.settled++
	}
	return f.mu.Unlock
}

func (f *flooded) look(context.Context) (progress, error) {
	defer f.settle()()
	return progress{at: time.Now(), pending: int64(len(f.events) - 1 - f.settled), settled: int64(f.settled)}, nil
}

func (f *flooded) set(rate float64) {
	defer f.settle()()
	f.rate, f.began = rate, time.Now()
}

// pending is how many events are not settled up to a frame; 0 means the last one.
func (f *flooded) pending(number uint64) int {
	defer f.settle()()
	if number == 0 {
		number = uint64(len(f.events) - 1)
	}
	return f.events[number] - f.events[f.settled]
}

// client publishes events, so many a request, as fast as it is answered, and tells how long each answer took; taking one
// event in takes its time.
func (f *flooded) client(ctx context.Context, p *pressure, events int, takes time.Duration, answered func(number uint64, took time.Duration)) {
	for {
		began := time.Now()
		p.callers.Add(1)
		pause(ctx, takes*time.Duration(events))
		number := f.publish(events)
		p.published(number, events)
		p.hold(ctx, events, 5*time.Second, nil)
		p.callers.Add(-1)
		if ctx.Err() != nil {
			return
		}
		answered(number, time.Since(began))
	}
}

func pressureOn(f *flooded) *pressure { return newPressure(f.look, slog.New(slog.DiscardHandler)) }

// While clients publish as fast as they are answered, what is acknowledged is stored within 5 s, the consumer is never
// without work, and who brings one event at a time is answered soon.
func TestPressureBoundsTheBacklog(t *testing.T) {
	t.Parallel()
	const rate = 17_000.
	for _, c := range []struct {
		name                       string
		processes, clients, events int
		takes                      time.Duration // To take in an event.
		single                     time.Duration // How long the answer to a single one may take.
	}{
		{"a few", 1, 8, 50, 180 * time.Microsecond, 20 * time.Millisecond},
		{"one", 1, 1, 256, 20 * time.Microsecond, 20 * time.Millisecond},
		{"many", 1, 1000, 50, 20 * time.Millisecond, time.Second},
		{"many of one event", 1, 400, 1, 8 * time.Millisecond, time.Second},
		{"several processes", 5, 8, 50, 900 * time.Microsecond, 50 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				f := flood(rate)
				var mu sync.Mutex
				var latest float64 // Seconds from an answer until what it acknowledged is stored.
				var slowest time.Duration
				for i := range c.processes {
					p := pressureOn(f)
					go p.run(ctx)
					for range c.clients {
						go f.client(ctx, p, c.events, c.takes, func(number uint64, _ time.Duration) {
							ahead := f.pending(number)
							mu.Lock()
							defer mu.Unlock()
							latest = max(latest, float64(ahead)/rate)
						})
					}
					if i == 0 {
						go f.client(ctx, p, 1, time.Millisecond, func(_ uint64, took time.Duration) {
							mu.Lock()
							defer mu.Unlock()
							slowest = max(slowest, took)
						})
					}
				}
				for began := time.Now(); time.Since(began) < 20*time.Second; {
					<-time.After(97 * time.Millisecond)
					if time.Since(began) > 4*time.Second {
						require.Greater(t, float64(f.pending(0))/rate, 1., "after %s", time.Since(began))
					}
				}
				cancel()
				synctest.Wait()
				t.Logf("stored %.1f s after the answer at the latest, a single event is answered after %s", latest, slowest)
				require.Less(t, latest, 5.)
				require.Less(t, slowest, c.single)
			})
		})
	}
}

// A store that is away makes nobody wait, whether there was a flood before or not.
func TestPressureIsNotOfAnAbsentStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := flood(17_000)
		p := pressureOn(f)
		go p.run(ctx)
		var mu sync.Mutex
		held := 0
		go f.client(ctx, p, 50, 200*time.Microsecond, func(_ uint64, took time.Duration) { // 5,000 a second.
			mu.Lock()
			defer mu.Unlock()
			if took > 10*time.Millisecond {
				held++
			}
		})
		during := func(d time.Duration) int {
			mu.Lock()
			before := held
			mu.Unlock()
			<-time.After(d)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return held - before
		}
		require.Zero(t, during(10*time.Second))
		f.set(0)
		require.Zero(t, during(time.Minute))
		require.Greater(t, f.pending(0), 290_000, "all was taken in")
		f.set(17_000)
		require.NotZero(t, during(5*time.Second), "it is back, and behind")
		f.set(0)
		during(2 * time.Second)
		require.Zero(t, during(10*time.Second))
		cancel()
		synctest.Wait()
	})
}

// A burst is taken in at once, also after times in which the consumer had little to do.
func TestPressureLetsBurstsPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := flood(17_000)
		p := pressureOn(f)
		go p.run(ctx)
		var held atomic.Int64
		unless := func(usual time.Duration) func(uint64, time.Duration) {
			return func(_ uint64, took time.Duration) {
				if took != usual {
					held.Add(1)
				}
			}
		}
		go f.client(ctx, p, 20, 500*time.Microsecond, unless(10*time.Millisecond))
		for range 20 {
			<-time.After(4 * time.Second)
			burst, end := context.WithTimeout(ctx, time.Second)
			for range 8 {
				go f.client(burst, p, 50, 180*time.Microsecond, unless(9*time.Millisecond))
			}
			<-burst.Done()
			end()
		}
		cancel()
		synctest.Wait()
		require.Zero(t, held.Load())
	})
}

// A hold ends with the price, with its context, with the connection, and in time.
func TestHoldEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pressureOn(flood(0))
		held := func(ctx context.Context, events int, most time.Duration, closing chan struct{}) time.Duration {
			began := time.Now()
			p.hold(ctx, events, most, closing)
			return time.Since(began)
		}
		require.Zero(t, held(t.Context(), 1_000_000, time.Hour, nil), "no price")
		p.price.Store(int64(10 * time.Millisecond))
		require.Equal(t, 10*time.Millisecond, held(t.Context(), 1, time.Hour, nil))
		require.Equal(t, time.Second, held(t.Context(), 100, time.Hour, nil))
		require.Equal(t, 5*time.Second, held(t.Context(), 1000, 5*time.Second, nil))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		require.Equal(t, 300*time.Millisecond, held(ctx, 1000, time.Hour, nil))
		closing := make(chan struct{})
		time.AfterFunc(400*time.Millisecond, func() { close(closing) })
		require.Equal(t, 400*time.Millisecond, held(t.Context(), 1000, time.Hour, closing))
		time.AfterFunc(600*time.Millisecond, func() { p.price.Store(0) })
		require.Equal(t, 750*time.Millisecond, held(t.Context(), 1000, time.Hour, nil))
	})
}

// Without an answer of the broker nobody is held back.
func TestPressureWithoutALook(t *testing.T) {
	t.Parallel()
	p := newPressure(func(context.Context) (progress, error) { return progress{}, errors.New("away") }, slog.New(slog.DiscardHandler))
	p.price.Store(math.MaxInt64)
	p.judge(t.Context(), &track{})
	require.Zero(t, p.price.Load())
}

// The broker's numbers tell what is settled and what is not.
func TestProgress(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	expect := func(settled, pending int64) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; { // The server counts acknowledgements in its own time.
			got, err := c.progress(t.Context(), DurablePersist)
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
	_, err := c.progress(t.Context(), "absent")
	require.ErrorIs(t, err, ErrUnavailable)
}

// Frames of this process count what they hold, others what these usually do, and too many are not remembered.
func TestTally(t *testing.T) {
	t.Parallel()
	var y tally
	pending, settled := y.settle(0, progress{pending: 10})
	require.Zero(t, pending+settled, "nothing of this process")
	for number := int64(1); number <= 10; number++ {
		y.add(2*number, 100)
	}
	pending, settled = y.settle(0, progress{settled: 8, pending: 12})
	require.InDelta(t, 1200, pending, 0.1)
	require.InDelta(t, 800, settled, 0.1)
	pending, settled = y.settle(8, progress{settled: 20})
	require.InDelta(t, 0, pending, 0.1)
	require.InDelta(t, 1200, settled, 0.1)

	for number := range int64(100_000) {
		y.add(21+number, 10)
		require.LessOrEqual(t, len(y.frames), maxTallied)
	}
	pending, _ = y.settle(20, progress{settled: 20, pending: 100_000})
	require.InDelta(t, 1_000_000, pending, 0.1)
}
