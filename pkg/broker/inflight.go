package broker

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// inFlight is the set of messages that were delivered to this process and are not yet acknowledged: queued messages, and
// messages that a handler works on. While extendAckWait runs, the server never redelivers them. So the ack wait only
// bounds how long the messages of a dead process stay undelivered.
type inFlight struct {
	mu       sync.Mutex
	extended map[jetstream.Msg]time.Time // When the ack wait of the message last began.
	bytes    int

	freed chan struct{} // Receives a value after a message was removed.
}

func newInFlight() *inFlight {
	return &inFlight{extended: map[jetstream.Msg]time.Time{}, freed: make(chan struct{}, 1)}
}

func (f *inFlight) add(msg jetstream.Msg) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.extended[msg] = time.Now()
	f.bytes += len(msg.Data())
}

// remove drops a message that was acknowledged or returned to the server. An unknown message is ignored.
func (f *inFlight) remove(msg jetstream.Msg) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.extended[msg]; !ok {
		return
	}
	delete(f.extended, msg)
	f.bytes -= len(msg.Data())
	select {
	case f.freed <- struct{}{}:
	default:
	}
}

// atLeast reports whether that many messages, or that many bytes, are in flight.
func (f *inFlight) atLeast(messages, bytes int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.extended) >= messages || f.bytes >= bytes
}

// extendAckWait reports progress on each message at least once in half an ack wait, until stop is called.
func (f *inFlight) extendAckWait(ackWait time.Duration) (stop func()) {
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
				for _, msg := range f.due(now, ackWait/4) {
					_ = msg.InProgress() // A lost report causes a redelivery, which is allowed.
				}
			}
		}
	}()
	return func() {
		close(done)
		<-finished
	}
}

// due returns the messages whose ack wait began at least d ago, and marks them as extended.
func (f *inFlight) due(now time.Time, d time.Duration) []jetstream.Msg {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []jetstream.Msg
	for msg, at := range f.extended {
		if now.Sub(at) >= d {
			list = append(list, msg)
			f.extended[msg] = now
		}
	}
	return list
}
