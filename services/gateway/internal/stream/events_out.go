package stream

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxBackfill bounds the time range of a subscription: how far back the stored past goes, and how far ahead of now an
// event may be.
const maxBackfill = 15 * time.Minute

// eventsOut sends a subscriber the events that match its filter: on request the stored ones of the last minutes, then
// new ones. It joins the feed first, so the two overlap, and drops the feed's events that the past contained.
func (s *Server) eventsOut(ctx context.Context, k *socket) closeReason {
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
	// On a goroutine of its own: reading the store grows the stack, which an idle subscriber would keep.
	done := make(chan closeReason, 1)
	go func() { done <- past.show(ctx, k, q.closeReason) }()
	if end := <-done; !end.ok() {
		return end
	}
	return q.deliver(ctx, k, past.shown)
}

// clamp restricts the time window of a filter to maxBackfill around now.
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
