package egress

import (
	"math"
	"time"
)

// The schedule of the attempts of one message to a server outside: 5 s, 15 s, 45 s … 6 h, each up to a fifth shorter or longer.
const (
	FirstRetry  = 5 * time.Second
	LongestWait = 6 * time.Hour
	retryFactor = 3
	jitter      = 0.2
)

// RetryFor is the time for the attempts of a call, a notification or a mail of an automation.
const RetryFor = 7 * 24 * time.Hour

// RetryWait returns the wait between a failed attempt and the next one, after a number of attempts from 1. Random, in [0, 1), spreads it.
func RetryWait(attempts int64, random float64) time.Duration {
	return Backoff(FirstRetry, LongestWait, retryFactor, attempts, random)
}

// Backoff returns the wait after a number of failures, from 1. It grows by the factor up to the longest wait; random, in [0, 1), spreads it.
func Backoff(first, longest time.Duration, factor float64, failures int64, random float64) time.Duration {
	wait := min(float64(longest), float64(first)*math.Pow(factor, float64(max(failures, 1)-1)))
	return time.Duration(wait * (1 - jitter + 2*jitter*random))
}
