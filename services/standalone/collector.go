package standalone

import (
	"context"
	"net/http"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// How much the heap grows, in per cent of what lives, before it is collected. Most of what lives is small next to what a busy
// server throws away each second. Collecting more often than Go does by itself spares memory, and costs little time but where
// much is thrown away: while webhooks come fast it is a third of all that the server does, and a sender who is not taken in
// time sends again. Then memory is spent instead.
const (
	calmGrowth = 35
	busyGrowth = 150
	// busyFrom is from how many webhooks a second on they come fast.
	busyFrom     = 500
	collectEvery = time.Second // How often is looked.
)

// collector is a run.Worker that decides how often garbage is collected. An operator's GOGC is left alone.
type collector struct {
	webhooks atomic.Int64 // Taken so far.
	// set sets the growth and returns what it was; debug.SetGCPercent.
	set    func(percent int) int
	before int
}

// newCollector begins with little memory: that of the start would stay.
func newCollector() *collector {
	if os.Getenv("GOGC") != "" {
		return collecting(func(percent int) int { return percent })
	}
	return collecting(debug.SetGCPercent)
}

func collecting(set func(percent int) int) *collector {
	return &collector{set: set, before: set(calmGrowth)}
}

// counting counts the requests that next answers.
func (c *collector) counting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.webhooks.Add(1)
		next.ServeHTTP(w, r)
	})
}

// Name implements run.Worker.
func (c *collector) Name() string { return "garbage" }

// Run decides until ctx ends, and leaves everything as it was.
func (c *collector) Run(ctx context.Context) error {
	now := calmGrowth
	defer func() { c.set(c.before) }()
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	for last := int64(0); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		taken, growth := c.webhooks.Load(), calmGrowth
		if taken-last >= busyFrom {
			growth = busyGrowth
		}
		if last = taken; growth != now {
			now = growth
			c.set(now)
		}
	}
}
