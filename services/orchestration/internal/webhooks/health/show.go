package health

import (
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Show returns the health of a webhook; unknown for nil, which stands for a webhook without requests. A webhook that has never
// accepted a request is failing: its owner sees that before there are enough failures for an event.
func (p Policy) Show(w *orchv1.WebhookWatch, now time.Time) *orchv1.WebhookHealth {
	out := &orchv1.WebhookHealth{Status: statusOf(w), Since: w.GetSince(), LastDelivery: w.GetLastDelivery()}
	if w.GetWindow() != nil && w.GetWindow().AsTime().Equal(now.Truncate(p.Window)) {
		out.Requests, out.Failures, out.Filtered = w.GetRequests(), w.GetFailures(), w.GetFiltered()
	}
	if out.Status == unknown && w.GetLastDelivery() != nil {
		out.Status = failing
	}
	if out.Status == failing {
		out.Reason = w.Reason
	}
	return out
}
