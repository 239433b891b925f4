package broker

import "time"

// yielding is how many times as long as a batch took a consumer rests that yields.
const yielding = 3

// pacer says how long a consumer rests between two batches (ConsumeOptions.Pace and Yield).
type pacer struct {
	opts   ConsumeOptions
	began  time.Time // The last batch.
	ended  time.Time
	behind time.Time // Since when more waits than fits into a batch; zero when it does not.
}

func (p *pacer) begin(now time.Time) { p.began = now }

// end notes that a batch was handled; more tells that something waits already.
func (p *pacer) end(now time.Time, more bool) {
	p.ended = now
	switch {
	case !more:
		p.behind = time.Time{}
	case p.behind.IsZero():
		p.behind = p.began
	}
}

// rest is how long it is to be waited before the next batch.
func (p *pacer) rest(now time.Time) time.Duration {
	until := p.began.Add(p.opts.Pace)
	if !p.behind.IsZero() && now.Sub(p.behind) < p.opts.Yield {
		if yielded := p.ended.Add(yielding * p.ended.Sub(p.began)); yielded.After(until) {
			until = yielded
		}
		if most := p.behind.Add(p.opts.Yield); until.After(most) {
			until = most
		}
	}
	return until.Sub(now)
}
