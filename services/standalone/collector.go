package standalone

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"
)

// Heap growth before a collection, in percent of the live heap. The live heap is small compared to what a busy server
// allocates each second. Frequent collections save memory and cost little, except at high allocation rates. The heap then
// grows further, so that collections are not more frequent than collectionsPerSecond.
const (
	minGrowth = 35
	maxGrowth = 150
	// collectionsPerSecond is the number of collections per second up to which memory is saved.
	collectionsPerSecond = 10
	// maxHeap is the size in bytes to which the heap grows for fewer collections. Beyond it the heap doubles at most, Go's default. The
	// live heap is that large while large requests are served; all others wait during collections, so they stay rare then too.
	maxHeap = 72 << 20
	// leastChange is the difference from which a new growth is set, because each change stops the world for a moment.
	leastChange = 10
	// collectEvery is the sampling interval; it must be shorter than a burst.
	collectEvery = 200 * time.Millisecond
	// samples is the number of samples of which the highest growth counts, so short pauses change nothing.
	samples = 10
)

// collector is a run.Worker that adjusts the garbage collector. It respects an operator's GOGC.
type collector struct {
	runtime
	growth, before int
}

// runtime is what a collector needs of the process.
type runtime struct {
	// heap returns the bytes allocated since the start, and those that were live at the last collection.
	heap func() (allocated, live uint64)
	// set sets the growth and returns the previous one, as debug.SetGCPercent does.
	set func(percent int) int
}

// newCollector starts with the small growth, because memory of the start-up would stay.
func newCollector() *collector {
	r := runtime{heap: heap, set: debug.SetGCPercent}
	if os.Getenv("GOGC") != "" {
		r.set = func(percent int) int { return percent }
	}
	return collecting(r)
}

func collecting(r runtime) *collector {
	return &collector{runtime: r, growth: minGrowth, before: r.set(minGrowth)}
}

func heap() (allocated, live uint64) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64(), sample[1].Value.Uint64()
}

// growth is the growth for a live heap and an allocation rate in bytes per second.
func growth(live, rate uint64) int {
	room := min(rate/collectionsPerSecond, max(maxHeap, 2*live)-live)
	return int(max(minGrowth, min(maxGrowth, room*100/max(live, 1))))
}

// grow sets the growth if it differs enough. The smallest one is always set.
func (c *collector) grow(percent int) {
	if percent == c.growth || percent != minGrowth && max(percent, c.growth)-min(percent, c.growth) < leastChange {
		return
	}
	c.set(percent)
	c.growth = percent
}

// Name implements run.Worker.
func (c *collector) Name() string { return "garbage" }

// Run adjusts the growth until ctx ends, and then restores the original one.
func (c *collector) Run(ctx context.Context) error {
	defer func() { c.set(c.before) }()
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	var recent [samples]int
	last, _ := c.heap()
	for i := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		total, live := c.heap()
		recent[i%samples] = growth(live, (total-last)*uint64(time.Second/collectEvery))
		c.grow(max(minGrowth, slices.Max(recent[:])))
		last = total
		i++
	}
}
