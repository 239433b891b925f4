package destinations

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// The schedule of the attempts of one delivery: 5 s, 15 s, 45 s … 6 h, each up to a fifth shorter or longer.
const (
	firstRetry  = 5 * time.Second
	retryFactor = 3
	longestWait = 6 * time.Hour
	jitter      = 0.2
)

// The schedule of the probes of an open circuit: 5 s, 10 s, 20 s … 5 min.
const (
	firstProbe   = 5 * time.Second
	longestProbe = 5 * time.Minute
)

// longestRetryAfter bounds the pause that a destination asks for.
const longestRetryAfter = 24 * time.Hour

// backoff returns the wait after a number of failures, from 1. It grows by the factor up to the longest wait; random, in [0, 1), spreads it.
func backoff(first, longest time.Duration, factor float64, failures int64, random float64) time.Duration {
	wait := min(float64(longest), float64(first)*math.Pow(factor, float64(max(failures, 1)-1)))
	return time.Duration(wait * (1 - jitter + 2*jitter*random))
}

// retryWait returns the wait between a failed attempt and the next one.
func retryWait(attempts int64, random float64) time.Duration {
	return backoff(firstRetry, longestWait, retryFactor, attempts, random)
}

// probeWait returns the wait of an open circuit after a number of failures beyond those that opened it.
func probeWait(beyond int64, random float64) time.Duration {
	return backoff(firstProbe, longestProbe, 2, beyond+1, random)
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
