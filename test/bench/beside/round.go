package beside

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Op sends one request of a row, on a connection that belongs to a worker (counted from 0).
type Op func(c *Conn, worker int) error

// Load configures the load of a row.
type Load struct {
	// Conns is the number of concurrent connections.
	Conns int
	// Warm is the uncounted time before a round; Round is the counted time.
	Warm, Round time.Duration
	// Rounds is the number of rounds of each server in a row.
	Rounds int
}

// Figures are the results of one server in a row, over all its rounds.
type Figures struct {
	Requests, Errors int64
	// Elapsed is the time of the rounds, CPU the server's processor time in them.
	Elapsed, CPU time.Duration
	// Memory is what the server had resident when that was most.
	Memory
	// FirstError is the first error.
	FirstError error

	latencies []time.Duration
}

// PerSecond is the rate in requests.
func (f *Figures) PerSecond() float64 {
	if f.Elapsed == 0 {
		return 0
	}
	return float64(f.Requests) / f.Elapsed.Seconds()
}

// CPUPerRequest is the server's processor time for a request.
func (f *Figures) CPUPerRequest() time.Duration {
	if f.Requests == 0 {
		return 0
	}
	return f.CPU / time.Duration(f.Requests)
}

// Quantile returns the latency at quantile q.
func (f *Figures) Quantile(q float64) time.Duration {
	if len(f.latencies) == 0 {
		return 0
	}
	slices.Sort(f.latencies)
	return f.latencies[int(float64(len(f.latencies)-1)*q)]
}

// round loads one server and adds to its figures.
func (l Load) round(s *Server, op Op, f *Figures) {
	var counting, stopped atomic.Bool
	var mu sync.Mutex
	var workers sync.WaitGroup
	for w := range l.Conns {
		workers.Go(func() {
			c := s.Conn()
			defer c.Close()
			var mine Figures
			for !stopped.Load() {
				counted := counting.Load()
				began := time.Now()
				err := op(c, w)
				took := time.Since(began)
				switch {
				case err != nil:
					if mine.FirstError == nil {
						mine.FirstError = err
					}
					if counted {
						mine.Errors++
					}
					time.Sleep(5 * time.Millisecond) // Errors are cheap: do not let them displace successful requests.
				case counted && !stopped.Load():
					mine.Requests++
					mine.latencies = append(mine.latencies, took)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			f.Requests += mine.Requests
			f.Errors += mine.Errors
			f.latencies = append(f.latencies, mine.latencies...)
			if f.FirstError == nil {
				f.FirstError = mine.FirstError
			}
		})
	}
	time.Sleep(l.Warm)
	before := s.usage()
	counting.Store(true)
	began := time.Now()
	for time.Since(began) < l.Round {
		time.Sleep(min(250*time.Millisecond, l.Round-time.Since(began)))
		if m := s.usage().Memory; m.Resident > f.Resident {
			f.Memory = m
		}
	}
	stopped.Store(true)
	f.Elapsed += time.Since(began)
	f.CPU += s.usage().cpu - before.cpu
	workers.Wait()
}

// settle waits until a server is idle: less than a fifth of a core for half a second.
func settle(s *Server, timeout time.Duration) {
	const window = 500 * time.Millisecond
	for end := time.Now().Add(timeout); time.Now().Before(end); {
		before := s.usage().cpu
		time.Sleep(window)
		if s.usage().cpu-before < window/5 {
			return
		}
	}
}

// Fill sends requests on several connections until n have succeeded, or until the timeout (0 means none), and returns
// the number of successes. It retries failed ones a few times: the Python server refuses some under load.
func Fill(ctx context.Context, s *Server, conns, n int, limit time.Duration, op Op) (int, error) {
	var left, done atomic.Int64
	left.Store(int64(n))
	began := time.Now()
	var workers sync.WaitGroup
	errs := make([]error, conns)
	for w := range conns {
		workers.Go(func() {
			c := s.Conn()
			defer c.Close()
			for left.Add(-1) >= 0 && ctx.Err() == nil && (limit == 0 || time.Since(began) < limit) {
				var err error
				for range 20 {
					if err = op(c, w); err == nil {
						done.Add(1)
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
				if err != nil {
					errs[w] = fmt.Errorf("fill %s: %w", s.Name, err)
					return
				}
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return int(done.Load()), err
		}
	}
	return int(done.Load()), ctx.Err()
}
