// Package requestload measures the load of a process by its requests, so background work can yield to clients.
//
// The measure is the request time: the sum of the durations of all requests, those in progress included. Its growth per second
// is the mean number of concurrent requests, whatever the speed of the machine (Little's law).
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
	requests int           // In progress.
	total    time.Duration // Until last.
	last     time.Time
}

// Total returns the request time since the start.
func (m *Meter) Total() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return m.total
}

func (m *Meter) add(requests int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.requests += requests
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
		m.add(1)
		defer m.add(-1)
		return handler(ctx, request)
	}
}
