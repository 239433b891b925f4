package stream

import (
	"context"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxSeen is how many of the last events are known by their keys. Clients send again what they are not sure of.
const maxSeen = 1 << 14

var eventsMissed = ending{brokerAway.code, "events were missed; connect again to catch up"}

// feedEvents is the source of the feed of events: the process's one consumer of the stream.
func (s *Server) feedEvents(ctx context.Context, ready func()) error {
	seen := newWindow(maxSeen)
	err := s.opts.Broker.Subscribe(ctx, func(e broker.Event) {
		if !s.events.interested(e.Workspace) || !seen.add(e.Key()) {
			return
		}
		event, _, err := events.FromBroker(e)
		if err != nil {
			s.opts.Log.WarnContext(ctx, "a feed skips an event", "event", e.ID, "error", err)
			return
		}
		s.events.offer(e.Workspace, event, message{e.ID, eventMessage(e.Data)})
	}, broker.OnReady(ready), broker.OnGap(func() {
		s.opts.Log.WarnContext(ctx, "the feed of events was cut off for too long; its subscribers are to connect again")
		s.events.interrupt(eventsMissed)
	}))
	if err != nil && ctx.Err() == nil {
		s.opts.Log.WarnContext(ctx, "the feed of events ended", "error", err)
	}
	return err
}

// eventMessage is what a subscriber gets of an event that is written as REST JSON.
func eventMessage(event []byte) []byte {
	const head, tail = `{"type":"event","event":`, `}`
	m := make([]byte, 0, len(head)+len(event)+len(tail))
	m = append(m, head...)
	m = append(m, event...)
	return append(m, tail...)
}

// passed is an event of the feed; all subscribers share it.
type passed = *orchv1.ReceivedEvent

// window remembers the last events.
type window struct {
	keys map[broker.Key]struct{}
	ring []broker.Key
	next int
}

func newWindow(size int) *window {
	return &window{keys: make(map[broker.Key]struct{}), ring: make([]broker.Key, 0, size)}
}

// add returns false when the event is one of the last.
func (w *window) add(key broker.Key) bool {
	if _, again := w.keys[key]; again {
		return false
	}
	if len(w.ring) < cap(w.ring) {
		w.ring = append(w.ring, key)
	} else {
		delete(w.keys, w.ring[w.next])
		w.ring[w.next] = key
		w.next = (w.next + 1) % len(w.ring)
	}
	w.keys[key] = struct{}{}
	return true
}
