package stream

import (
	"context"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/events"
)

// maxSeen is the size of the deduplication window in events. Clients send an event again when they miss its
// acknowledgement.
const maxSeen = 1 << 14

var eventsMissed = closeReason{brokerAway.code, "events were missed; connect again to catch up"}

// feedEvents reads the source of the event feed: the process's one consumer of the stream.
func (s *Server) feedEvents(ctx context.Context, ready func()) error {
	seen := newDedupSet(maxSeen)
	err := s.opts.Broker.Subscribe(ctx, func(e broker.Event) {
		if !s.events.interested(e.Workspace) || !seen.add(e.Key()) {
			return
		}
		event, _, err := events.FromBroker(e)
		if err != nil {
			s.opts.Log.WarnContext(ctx, "failed to encode an event of a feed; skipped it", "event", e.ID, "error", err)
			return
		}
		s.events.offer(e.Workspace, event, message{e.ID, eventMessage(e.Data)})
	}, broker.OnReady(ready), broker.OnGap(func() {
		s.opts.Log.WarnContext(ctx, "the event feed lost messages during a long disconnection; its subscribers must reconnect")
		s.events.interrupt(eventsMissed)
	}))
	if err != nil && ctx.Err() == nil {
		s.opts.Log.WarnContext(ctx, "failed to follow the event feed", "error", err)
	}
	return err
}

// eventMessage is the message that a subscriber receives for an event in REST JSON.
func eventMessage(event []byte) []byte {
	const head, tail = `{"type":"event","event":`, `}`
	m := make([]byte, 0, len(head)+len(event)+len(tail))
	m = append(m, head...)
	m = append(m, event...)
	return append(m, tail...)
}

// dedupSet is a deduplication window over the last events.
type dedupSet struct {
	keys map[broker.Key]struct{}
	ring []broker.Key
	next int
}

func newDedupSet(size int) *dedupSet {
	return &dedupSet{keys: make(map[broker.Key]struct{}), ring: make([]broker.Key, 0, size)}
}

// add returns false for a duplicate.
func (w *dedupSet) add(key broker.Key) bool {
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
