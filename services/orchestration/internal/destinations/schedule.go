package destinations

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

// The schedule of the probes of an open circuit: 5 s, 10 s, 20 s … 5 min.
const (
	firstProbe   = 5 * time.Second
	longestProbe = 5 * time.Minute
)

// longestRetryAfter bounds the pause that a destination asks for.
const longestRetryAfter = 24 * time.Hour

// probeWait returns the wait of an open circuit after a number of failures beyond those that opened it.
func probeWait(beyond int64, random float64) time.Duration {
	return egress.Backoff(firstProbe, longestProbe, 2, beyond+1, random)
}

// retryAfter returns the pause that a response asks for: seconds, or a date. It is 0 without a valid one, and bounded.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(longestRetryAfter/time.Second))) * time.Second
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(now), 0), longestRetryAfter)
}
