package standalone

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Heap growth before a collection, in percent of the live heap. The live heap is small compared to what a busy server
// allocates each second. Frequent collections save memory and cost little, except during floods of webhooks or events.
// There they took a third of the processor time, so the collector then spends memory instead.
const (
	calmGrowth = 35
	busyGrowth = 150
	// busyFrom is the allocation rate in bytes per second that counts as busy.
	busyFrom = 256 << 20
	// collectEvery is the sampling interval; it must be shorter than a burst.
	collectEvery = 200 * time.Millisecond
	// calmAfter is the number of calm samples that end the busy mode, because each change stops the world for a moment.
	calmAfter = 10
)

// collector is a run.Worker that adjusts the garbage collector. It respects an operator's GOGC.
type collector struct {
	// allocated returns the bytes allocated since the start.
	allocated func() uint64
	// set sets the growth and returns the previous one, as debug.SetGCPercent does.
	set    func(percent int) int
	before int
}

// newCollector starts with the small growth, because memory of the start-up would stay.
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

// Run adjusts the growth until ctx ends, and then restores the original one.
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
