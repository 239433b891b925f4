package standalone

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How much the heap grows, in per cent of what lives, before it is collected. Most of what lives is small next to what a busy
// server throws away each second. Collecting more often than Go does by itself spares memory, and costs little time but where
// very much is thrown away, by webhooks or events that come fast: there it is a third of all that the server does, and a
// sender who is not taken in time sends again. Then memory is spent instead.
const (
	calmGrowth = 35
	busyGrowth = 150
	// busyFrom is how much is allocated when much is thrown away, in bytes a second.
	busyFrom = 256 << 20
	// collectEvery is how often is looked: a burst should not be over before it is seen.
	collectEvery = 200 * time.Millisecond
	// calmAfter is how many looks in a row must find a calm server: each change stops the world for a moment.
	calmAfter = 10
)

// collector is a run.Worker that decides how often garbage is collected. An operator's GOGC is left alone.
type collector struct {
	// allocated is how many bytes were allocated since the start.
	allocated func() uint64
	// set sets the growth and returns what it was; debug.SetGCPercent.
	set    func(percent int) int
	before int
}

// newCollector begins with little memory: that of the start would stay.
func newCollector() *collector {
	if os.Getenv("GOGC") != "" {
		return collecting(allocated, func(percent int) int { return percent })
	}
	return collecting(allocated, debug.SetGCPercent)
}

func collecting(allocated func() uint64, set func(percent int) int) *collector {
	return &collector{allocated: allocated, set: set, before: set(calmGrowth)}
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Name implements run.Worker.
func (c *collector) Name() string { return "garbage" }

// Run decides until ctx ends, and leaves everything as it was.
func (c *collector) Run(ctx context.Context) error {
	defer func() { c.set(c.before) }()
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	const busy = uint64(busyFrom * collectEvery / time.Second)
	last, calm := c.allocated(), calmAfter
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		total := c.allocated()
		switch {
		case total-last < busy:
			if calm++; calm == calmAfter {
				c.set(calmGrowth)
			}
		case calm >= calmAfter:
			c.set(busyGrowth)
			calm = 0
		default:
			calm = 0
		}
		last = total
	}
}
