package broker

import "sync"

// maxTrackedFrames bounds the memory for the frames of a consumer that makes no progress for days.
const maxTrackedFrames = 4096

// backlog counts the events in the frames that this process published and a consumer has not settled. The broker itself
// counts frames only, whose sizes differ a hundredfold.
type backlog struct {
	mu      sync.Mutex
	frames  []publishedFrame // In publishing order, which is nearly that of their sequence numbers.
	events  int64            // In these frames.
	average float64          // Events per frame, recently; 0 before the first.
}

type publishedFrame struct {
	sequence int64
	events   int64
}

// add records a frame that the stream has stored.
func (b *backlog) add(sequence, events int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.average == 0 {
		b.average = float64(events)
	}
	b.average += (float64(events) - b.average) / 32
	if len(b.frames) == maxTrackedFrames {
		b.coalesce()
	}
	b.frames = append(b.frames, publishedFrame{sequence, events})
	b.events += events
}

// coalesce joins neighbouring frames into ones of about equal size. Their events count until the last one is settled.
func (b *backlog) coalesce() {
	target := b.events/(maxTrackedFrames/4) + 1
	joined := b.frames[:1]
	for _, f := range b.frames[1:] {
		last := &joined[len(joined)-1]
		if last.events+f.events <= target {
			*last = publishedFrame{f.sequence, last.events + f.events}
		} else {
			joined = append(joined, f)
		}
	}
	b.frames = joined
}

// advance drops the frames that the consumer has settled. It returns how many events are pending, and how many were
// settled since the last call.
func (b *backlog) advance(position consumerPosition) (pending, settled float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, events := 0, int64(0)
	for n < len(b.frames) && b.frames[n].sequence <= position.settled {
		events += b.frames[n].events
		n++
	}
	b.events -= events
	b.frames = append(b.frames[:0], b.frames[n:]...)
	return float64(b.events), float64(events)
}

// others estimates how many events of other processes are pending, as if their frames were like those of this process.
func (b *backlog) others(position consumerPosition) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.average * float64(max(position.pending-int64(len(b.frames)), 0))
}
