package ratelimit

import (
	"encoding/binary"
	"math"
	"time"
)

// Limit is a rate, tokens in a time, with a burst: the tokens of a full bucket. All are positive.
type Limit struct {
	Tokens int
	Per    time.Duration
	Burst  int
}

// rate is the number of tokens that a bucket gains in a second.
func (l Limit) rate() float64 { return float64(l.Tokens) / l.Per.Seconds() }

// gain is the number of tokens that a bucket gains in a time.
func (l Limit) gain(d time.Duration) float64 { return l.rate() * d.Seconds() }

// rounding is the part of a token by which sums of times differ from the exact number.
const rounding = 1e-6

// state is the shared state of a token bucket: the tokens that a full bucket has more than it, at a time.
type state struct {
	missing float64
	at      time.Time
}

// maxSkew is how much the clocks of two processes differ at most. A state from later than that was written before a clock was stepped back.
const maxSkew = time.Second

// refilled is the state at a later time. A state from a process whose clock is ahead gains nothing until that time.
func (s state) refilled(l Limit, now time.Time) state {
	s.missing = min(s.missing, float64(l.Burst)) // A smaller burst leaves the bucket empty, not in debt.
	if passed := now.Sub(s.at); passed > 0 || passed < -maxSkew {
		s = state{max(0, s.missing-l.gain(max(0, passed))), now}
	}
	return s
}

// tokens is the number of whole tokens in the bucket.
func (s state) tokens(l Limit) int { return int(float64(l.Burst) - s.missing + rounding) }

// wait is the time until the bucket has n tokens, if nobody takes any.
func (s state) wait(l Limit, n int) time.Duration {
	lacking := float64(n) - (float64(l.Burst) - s.missing)
	if lacking <= rounding {
		return 0
	}
	return time.Duration(math.Ceil(lacking / l.rate() * float64(time.Second)))
}

// stateSize is the length of an encoded state, in bytes.
const stateSize = 16

func (s state) encode() []byte {
	out := binary.BigEndian.AppendUint64(make([]byte, 0, stateSize), math.Float64bits(s.missing))
	return binary.BigEndian.AppendUint64(out, uint64(s.at.UnixMicro()))
}

// decodeState reads a state at a time. A bucket without a state is full. An unreadable state means an empty bucket.
func decodeState(text []byte, l Limit, now time.Time) state {
	if text == nil {
		return state{at: now}
	}
	if len(text) == stateSize {
		missing := math.Float64frombits(binary.BigEndian.Uint64(text))
		if missing >= 0 && !math.IsInf(missing, 0) {
			return state{missing, time.UnixMicro(int64(binary.BigEndian.Uint64(text[8:]))).UTC()}
		}
	}
	return state{float64(l.Burst), now}
}
