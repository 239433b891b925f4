package broker

import "sync"

// maxTallied bounds how many frames are remembered, so that a consumer which stands still for days costs no memory.
const maxTallied = 4096

// tally remembers how many events there are in the frames that this process published and a consumer is not done with.
// The broker counts frames, whose sizes differ a hundredfold. Frames of others, and those that are too many to be
// remembered, are taken to be like the last ones of this process.
type tally struct {
	mu     sync.Mutex
	frames []tallied // In the order of publishing, which is nearly that of their numbers.
	events int64     // In these frames.
	usual  float64   // Events in a frame, lately; 0 before the first.
}

type tallied struct {
	number int64
	events int64
}

// add notes that the stream has a frame.
func (t *tally) add(number, events int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.usual == 0 {
		t.usual = float64(events)
	}
	t.usual += (float64(events) - t.usual) / 32
	if len(t.frames) == maxTallied {
		t.drop(maxTallied / 4)
	}
	t.frames = append(t.frames, tallied{number, events})
	t.events += events
}

// settle forgets the frames up to a number and tells how many events the consumer is not done with, and how many it is
// since it was done with frames up to before.
func (t *tally) settle(before int64, now progress) (pending, settled float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, events := 0, t.events
	for n < len(t.frames) && t.frames[n].number <= now.settled {
		n++
	}
	t.drop(n)
	others := func(frames int64, own int) float64 { return t.usual * float64(max(frames-int64(own), 0)) }
	return float64(t.events) + others(now.pending, len(t.frames)), float64(events-t.events) + others(now.settled-before, n)
}

// drop forgets the first frames.
func (t *tally) drop(n int) {
	for _, f := range t.frames[:n] {
		t.events -= f.events
	}
	t.frames = append(t.frames[:0], t.frames[n:]...)
}
