package health

import (
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Policy has the thresholds of failing webhooks.
type Policy struct {
	// Window is the period in which requests are counted.
	Window time.Duration
	// Failures is the minimum number of failures, and Share their minimum share of the requests, from 0 to 1.
	Failures int64
	Share    float64
}

// Transition is a change of a webhook's status.
type Transition struct {
	From, To orchv1.WebhookHealthStatus
	At       time.Time
	// Requests and Failures are those of the window that caused the change; zero for silence.
	Requests, Failures int64
}

const (
	unknown = orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_UNKNOWN
	healthy = orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_HEALTHY
	failing = orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_FAILING
	silent  = orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_SILENT
)

// maxSources bounds the remembered processes of a webhook. Processes that ended are forgotten first.
const maxSources = 32

// maxDelay is the age of a count from which silence is measured from its arrival: the clock of its process is behind, or the
// count waited for an outage to end. Silence measured from its last request would be announced while requests arrive.
const maxDelay = time.Minute

// Count adds the requests that a process counted, and returns the changes that they cause. A duplicate changes nothing. A
// process whose clock is ahead must not begin a window of the future, so its requests count as those of now.
func (p Policy) Count(w *orchv1.WebhookWatch, t *orchv1.WebhookTraffic, now time.Time) []Transition {
	if !admit(w, t.GetSource()) {
		return nil
	}
	last := t.GetLast().AsTime()
	if last.After(now) {
		last = now
	}
	p.stepBack(w, now)
	changes := p.endWindow(w, last)
	w.Name = t.GetName()
	w.Requests += t.GetRequests()
	w.Failures += t.GetFailures()
	w.Filtered += t.GetFiltered()
	if w.LastDelivery == nil || last.After(w.GetLastDelivery().AsTime()) {
		w.LastDelivery = timestamppb.New(last)
	}
	if w.MaxSilence != nil && now.Sub(last) > maxDelay && now.After(w.GetWatchedSince().AsTime()) {
		w.WatchedSince = timestamppb.New(now)
	}
	if t.GetFailures() > 0 {
		w.Reason, w.Error = t.Reason, t.Error
	}
	accepted := t.GetRequests() > t.GetFailures()
	switch status := statusOf(w); {
	case status != failing && p.exceeded(w):
		changes = append(changes, p.change(w, failing, last))
	case status == silent && accepted, status == unknown && accepted:
		changes = append(changes, p.change(w, healthy, last))
	}
	p.schedule(w)
	return changes
}

// Examine applies the passage of time, and returns the changes that it causes.
func (p Policy) Examine(w *orchv1.WebhookWatch, now time.Time) []Transition {
	p.stepBack(w, now)
	changes := p.endWindow(w, now)
	if at, ok := silentAt(w); ok && !now.Before(at) {
		changes = append(changes, p.change(w, silent, at))
	}
	p.schedule(w)
	return changes
}

// Follow applies the webhook's settings. Silence is measured from now on if there was no request.
func (p Policy) Follow(w *orchv1.WebhookWatch, name string, maxSilence *int64, now time.Time) {
	w.Name = name
	if (w.MaxSilence == nil) != (maxSilence == nil) || w.GetMaxSilence() != valueOf(maxSilence) {
		w.MaxSilence, w.WatchedSince = maxSilence, timestamppb.New(now)
	}
	p.schedule(w)
}

func valueOf(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// maxLag is how far behind the last sequence of a process a count is still recognized as new: the bits of counted.
const maxLag = 63

// admit reports whether a count is new, and remembers it. Counts may arrive in another order: the journal delivers entries again
// that a replica could not store.
func admit(w *orchv1.WebhookWatch, source *orchv1.WebhookTrafficSource) bool {
	next := &orchv1.WebhookTrafficSource{Id: source.GetId(), Sequence: source.GetSequence()}
	at := slices.IndexFunc(w.GetSources(), func(s *orchv1.WebhookTrafficSource) bool { return s.GetId() == source.GetId() })
	if at >= 0 {
		tracked := w.GetSources()[at]
		switch ahead := source.GetSequence() - tracked.GetSequence(); {
		case ahead > maxLag:
		case ahead > 0:
			next.Counted = (tracked.GetCounted()<<ahead | 1<<(ahead-1)) & math.MaxInt64
		case ahead == 0 || ahead < -maxLag || tracked.GetCounted()&(1<<(-ahead-1)) != 0:
			return false
		default:
			next.Sequence, next.Counted = tracked.GetSequence(), tracked.GetCounted()|1<<(-ahead-1)
		}
		w.Sources = slices.Delete(w.GetSources(), at, at+1)
	}
	w.Sources = append(w.GetSources(), next)
	if over := len(w.GetSources()) - maxSources; over > 0 {
		w.Sources = slices.Delete(w.GetSources(), 0, over)
	}
	return true
}

// stepBack corrects times of the future, which were written before the clock stepped back: otherwise no window would end, and no
// silence be noticed, until the clock reaches them again. A window ahead, as of a replica whose clock is ahead, is left.
func (p Policy) stepBack(w *orchv1.WebhookWatch, now time.Time) {
	limit := now.Add(p.Window)
	if w.Window != nil && w.GetWindow().AsTime().After(limit) {
		w.Window = timestamppb.New(now.Truncate(p.Window).Add(-p.Window)) // The next step ends it.
	}
	for _, at := range []**timestamppb.Timestamp{&w.LastDelivery, &w.WatchedSince} {
		if *at != nil && (*at).AsTime().After(limit) {
			*at = timestamppb.New(now)
		}
	}
}

// endWindow begins the window of a time if the current one has ended.
func (p Policy) endWindow(w *orchv1.WebhookWatch, at time.Time) []Transition {
	start := at.Truncate(p.Window)
	if w.Window != nil && !start.After(w.GetWindow().AsTime()) {
		return nil
	}
	var changes []Transition
	if w.Window != nil && statusOf(w) == failing && w.GetRequests() > 0 && !p.exceeded(w) {
		changes = append(changes, p.change(w, healthy, w.GetWindow().AsTime().Add(p.Window)))
	}
	w.Window, w.Requests, w.Failures, w.Filtered = timestamppb.New(start), 0, 0, 0
	return changes
}

// exceeded reports whether the current window exceeds the thresholds. Filtered requests say nothing about the others.
func (p Policy) exceeded(w *orchv1.WebhookWatch) bool {
	return w.GetFailures() >= max(p.Failures, 1) && float64(w.GetFailures()) >= p.Share*float64(w.GetRequests()-w.GetFiltered())
}

func (p Policy) change(w *orchv1.WebhookWatch, to orchv1.WebhookHealthStatus, at time.Time) Transition {
	change := Transition{From: statusOf(w), To: to, At: at, Requests: w.GetRequests(), Failures: w.GetFailures()}
	w.Status, w.Since = to, timestamppb.New(at)
	return change
}

// schedule sets the time of the next examination.
func (p Policy) schedule(w *orchv1.WebhookWatch) {
	w.Due = nil
	if statusOf(w) == failing && w.GetRequests() > 0 {
		w.Due = timestamppb.New(w.GetWindow().AsTime().Add(p.Window))
	}
	if at, ok := silentAt(w); ok && (w.Due == nil || at.Before(w.GetDue().AsTime())) {
		w.Due = timestamppb.New(at)
	}
}

// silentAt returns when the webhook becomes silent, if nothing arrives.
func silentAt(w *orchv1.WebhookWatch) (time.Time, bool) {
	if w.MaxSilence == nil || statusOf(w) == silent || statusOf(w) == failing {
		return time.Time{}, false
	}
	from := w.GetWatchedSince().AsTime()
	if last := w.GetLastDelivery(); last != nil && last.AsTime().After(from) {
		from = last.AsTime()
	}
	return from.Add(time.Duration(w.GetMaxSilence()) * time.Second), true
}

// statusOf returns the status of a webhook; unknown for a new one.
func statusOf(w *orchv1.WebhookWatch) orchv1.WebhookHealthStatus {
	if w.GetStatus() == orchv1.WebhookHealthStatus_WEBHOOK_HEALTH_STATUS_UNSPECIFIED {
		return unknown
	}
	return w.GetStatus()
}
