// Package requestload measures the load of a process by its requests, so background work can yield to clients.
//
// The measure is the request time: the sum of the durations of all requests, those in progress included. Its growth per second
// is the mean number of concurrent requests, whatever the speed of the machine (Little's law). Its growth per ended request is the
// mean latency.
package requestload

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// Meter measures the request time. The zero value is ready for use.
type Meter struct {
	mu       sync.Mutex
	requests int // In progress.
	ended    int64
	total    time.Duration // Until last.
	last     time.Time
}

// Load is the request time and the number of ended requests since some moment.
type Load struct {
	Time  time.Duration
	Ended int64
}

// Sub returns the load since an earlier moment.
func (l Load) Sub(earlier Load) Load { return Load{l.Time - earlier.Time, l.Ended - earlier.Ended} }

// Total returns the load since the start.
func (m *Meter) Total() Load {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return Load{m.total, m.ended}
}

func (m *Meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.requests++
}

func (m *Meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.requests--
	m.ended++
}

func (m *Meter) advance() {
	now := time.Now()
	m.total += time.Duration(m.requests) * now.Sub(m.last)
	m.last = now
}

// Interceptor counts requests, except those of the services with these prefixes of full method names.
func (m *Meter) Interceptor(except ...string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		for _, prefix := range except {
			if strings.HasPrefix(info.FullMethod, prefix) {
				return handler(ctx, request)
			}
		}
		m.begin()
		defer m.end()
		return handler(ctx, request)
	}
}
