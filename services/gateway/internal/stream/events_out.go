package stream

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxBackfill is how far back a subscriber is shown the past, and how far ahead of now what it is shown may be.
const maxBackfill = 15 * time.Minute

// eventsOut shows a subscriber the events that match its filter: those of the last minutes if it wants them, then those
// that come. It joins the feed first, so that the two overlap, and leaves out of the feed what the past has shown.
func (s *Server) eventsOut(ctx context.Context, k *socket) ending {
	filter := &orchv1.EventFilter{}
	wantsPast, end := k.readFilter(ctx, filter)
	if !end.ok() {
		return end
	}
	now := time.Now()
	clamp(filter, now)
	matcher := events.NewMatcher(s.opts.Vocabulary, filter)
	q := newSubscriber(k.info.Workspace, wantsPast, matcher.Match)
	defer s.events.leave(q)
	ctx = k.untilGone(ctx)
	if s.events.join(ctx, q) != nil {
		return brokerAway
	}
	if !wantsPast {
		return q.deliver(ctx, k, nil)
	}
	past := &past{caller: s.opts.Caller, broker: s.opts.Broker, filter: filter, since: now}
	// On a stack of its own: reading the store takes a deep one, and a subscriber that is idle from then on would keep it.
	done := make(chan ending, 1)
	go func() { done <- past.show(ctx, k, q.ending) }()
	if end := <-done; !end.ok() {
		return end
	}
	return q.deliver(ctx, k, past.shown)
}

// clamp keeps the window of a filter within maxBackfill of now.
func clamp(f *orchv1.EventFilter, now time.Time) {
	if f.Occurred == nil {
		f.Occurred = &orchv1.EventOccurredFilter{}
	}
	since, until := now.Add(-maxBackfill), now.Add(maxBackfill)
	if f.Occurred.Since == nil || f.Occurred.Since.AsTime().Before(since) {
		f.Occurred.Since = timestamppb.New(since)
	}
	if f.Occurred.Until != nil && f.Occurred.Until.AsTime().After(until) {
		f.Occurred.Until = timestamppb.New(until)
	}
}
