package broker

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
)

// BenchmarkPublish compares, in one run and on one server, events that are published one by one with events in frames;
// both are flushed before the acknowledgement. The frames' line carries the ratio of the two throughputs.
func BenchmarkPublish(b *testing.B) {
	for _, publishers := range []int{1, 16, 64, 256} {
		var plain float64 // Events per second.
		b.Run(fmt.Sprintf("publishers=%d/plain", publishers), func(b *testing.B) {
			c := benchConn(b)
			plain = measure(b, publishers, func(e Event) error {
				_, err := c.js.Publish(b.Context(), subjectPrefix+"0", appendEvent(nil, &e), jetstream.WithMsgID(e.ID.String()))
				return err
			})
		})
		b.Run(fmt.Sprintf("publishers=%d/frames", publishers), func(b *testing.B) {
			c := benchConn(b)
			frames := measure(b, publishers, func(e Event) error { return c.Publisher().Publish(b.Context(), e) })
			if plain > 0 {
				b.ReportMetric(frames/plain, "x-plain")
			}
		})
	}
}

func benchConn(b *testing.B) *Conn {
	n := testkit.StartNATS(b, embeddednats.Options{})
	c, err := Connect(b.Context(), Config{InProcess: n, AckTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close() })
	return c
}

// measure runs b.N publications from a number of publishers and gives the throughput.
func measure(b *testing.B, publishers int, publish func(Event) error) float64 {
	data := []byte(`"` + strings.Repeat("x", 700) + `"`)
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for range publishers {
		workspace := uuid.New()
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				e := Event{ID: uuid.New(), Source: "/bench", Type: "bench", Workspace: workspace, Data: data}
				if err := publish(e); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "events/s")
	return rate
}

// BenchmarkDecodeFrame reads a full frame.
func BenchmarkDecodeFrame(b *testing.B) {
	waiters := make([]*waiter, MaxFrameEvents)
	for i := range waiters {
		e := testEvent()
		e.Data = []byte(`{"resource":{"orch.resource.id":"orch.flow-run.018f"},"payload":{"n":[1,2,3]}}`)
		waiters[i] = &waiter{body: appendEvent(nil, &e)}
	}
	frame := appendFrame(nil, waiters)
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if _, err := decodeFrame(nil, frame); err != nil {
			b.Fatal(err)
		}
	}
}
