package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// compressible returns events whose frames are compressed. Their data differs.
func compressible(n int) []Event {
	workspace := uuid.New()
	all := make([]Event, n)
	for i := range all {
		all[i] = testEvent()
		all[i].Workspace, all[i].Subject = workspace, fmt.Sprint("event ", i)
		all[i].Data = []byte(fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, strings.Repeat(string(rune('a'+i%26)), minCompressed+i)))
	}
	return all
}

// publishCompressed publishes events in frames of different sizes, so that some frames do not fit into the batch before.
func publishCompressed(t *testing.T, c *Conn, events []Event) {
	t.Helper()
	for size := 1; len(events) > 0; size = size%5 + 1 {
		n := min(size, len(events))
		require.NoError(t, c.Publisher().PublishAll(t.Context(), events[:n]))
		events = events[n:]
	}
}

// A consumer that reuses memory gives each event complete, whatever it handled before, and after failures too.
func TestReusedMemoryHasWholeEvents(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	want := map[uuid.UUID]Event{}
	all := compressible(100)
	publishCompressed(t, c, all)
	for _, e := range all {
		want[e.ID] = e.canonical()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts := ConsumeOptions{MaxEvents: 7, ReuseMemory: true, Backoff: []time.Duration{time.Millisecond}}
	calls := 0
	require.NoError(t, c.Consume(ctx, DurablePersist, opts, func(_ context.Context, batch []Event) error {
		calls++
		require.LessOrEqual(t, len(batch), opts.MaxEvents)
		for _, e := range batch {
			require.Contains(t, want, e.ID)
			require.Equal(t, want[e.ID], e)
		}
		if calls%3 == 0 {
			return errors.New("the store is away")
		}
		for _, e := range batch {
			delete(want, e.ID)
		}
		if len(want) == 0 {
			cancel()
		}
		return nil
	}))
	require.Empty(t, want)
}

// A handler owns its batches unless it asks for their reuse.
func TestHandlerOwnsItsBatches(t *testing.T) {
	t.Parallel()
	c := connectInProcess(t)
	want := compressible(100)
	publishCompressed(t, c, want)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var batches [][]Delivery
	handled := 0
	require.NoError(t, c.ConsumeDeliveries(ctx, DurablePersist, ConsumeOptions{MaxEvents: 7}, func(_ context.Context, batch []Delivery) error {
		batches = append(batches, batch)
		if handled += len(batch); handled == len(want) {
			cancel()
		}
		return nil
	}))
	for _, batch := range batches {
		for _, d := range batch {
			require.Equal(t, want[0], d.Event)
			want = want[1:]
		}
	}
	require.Empty(t, want)
}

// Buffers of frames do not overlap, whatever their sizes, and the last one survives a reset that keeps it.
func TestFrameMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var m frameMemory
		var open [][]byte
		check := func() {
			for i, b := range open {
				require.Equal(t, bytes.Repeat([]byte{byte(i)}, len(b)), b)
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if rapid.IntRange(0, 4).Draw(t, "reset") == 0 {
				check()
				keep := len(open) > 0 && rapid.Bool().Draw(t, "keep")
				m.reset(keep)
				if !keep {
					open = nil
					continue
				}
				open = open[len(open)-1:]
				clear(open[0]) // It is the first one now.
				continue
			}
			n := rapid.SampledFrom([]int{1, 1000, chunkSize / 2, chunkSize, chunkSize + 1}).Draw(t, "size")
			b := m.take(n)
			require.Empty(t, b)
			require.GreaterOrEqual(t, cap(b), n)
			open = append(open, append(b, bytes.Repeat([]byte{byte(len(open))}, n)...))
		}
		check()
	})
	var owned *frameMemory
	one, other := owned.take(1)[:1], owned.take(1)[:1]
	require.NotSame(t, &one[0], &other[0])
}
