package broker

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// hand holds the messages that were delivered to this process and are not settled: those that wait as well as those that
// are worked on. While keep runs, the broker hears of each of them often enough not to deliver it to others. So the ack
// wait bounds nothing but how long the messages rest that a process had in hand when it died.
type hand struct {
	mu    sync.Mutex
	heard map[jetstream.Msg]time.Time // When the broker last heard of the message, or handed it out.
	bytes int

	freed chan struct{} // Has an entry after something was put down.
}

func newHand() *hand {
	return &hand{heard: map[jetstream.Msg]time.Time{}, freed: make(chan struct{}, 1)}
}

func (h *hand) take(msg jetstream.Msg) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard[msg] = time.Now()
	h.bytes += len(msg.Data())
}

// put says that the message was acknowledged or given back, and is the broker's again.
func (h *hand) put(msg jetstream.Msg) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, held := h.heard[msg]; !held {
		return
	}
	delete(h.heard, msg)
	h.bytes -= len(msg.Data())
	select {
	case h.freed <- struct{}{}:
	default:
	}
}

// holds tells whether there are as many messages, or bytes of them.
func (h *hand) holds(messages, bytes int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.heard) >= messages || h.bytes >= bytes
}

// keep tells the broker of what is in hand, each message at least once in half an ack wait, until stop is called.
func (h *hand) keep(ackWait time.Duration) (stop func()) {
	done := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		ticker := time.NewTicker(ackWait / 4)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-ticker.C:
				for _, msg := range h.silent(now, ackWait/4) {
					_ = msg.InProgress() // Lost: the message is delivered twice, which is allowed.
				}
			}
		}
	}()
	return func() {
		close(done)
		<-finished
	}
}

// silent are the messages that the broker has not heard of for d. They count as heard of from now on.
func (h *hand) silent(now time.Time, d time.Duration) []jetstream.Msg {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []jetstream.Msg
	for msg, heard := range h.heard {
		if now.Sub(heard) >= d {
			list = append(list, msg)
			h.heard[msg] = now
		}
	}
	return list
}
