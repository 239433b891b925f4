package deliveries

import (
	"net/http"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/redact"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// trafficInterval is the time between two counts of one webhook that travel to the store.
	trafficInterval = 5 * time.Second
	// maxTraffic bounds the counts that wait for the broker. Further requests are added to the current counts.
	maxTraffic = 4096
	// maxTrafficError bounds the error of a count, in bytes.
	maxTrafficError = 1 << 10
)

// traffic counts the requests of each webhook exactly, whatever the log samples. Its owner's lock guards it. Its size is
// bounded by the number of webhooks.
type traffic struct {
	source   string // The process.
	sequence int64
	since    time.Time
	counts   map[string]*requestCount // By the webhook's id.
}

// requestCount counts the requests of one webhook in an interval.
type requestCount struct {
	hook               *orchv1.WebhookDefinition
	requests, failures int64
	filtered           int64
	last               time.Time
	// reason, err and request are those of the last failure; the request has no body.
	reason  string
	err     error
	request receive.Request
}

func newTraffic(now time.Time) traffic {
	return traffic{source: uuid.NewString(), since: now, counts: map[string]*requestCount{}}
}

// add counts a request. Handshakes are no deliveries.
func (t *traffic) add(n *LogEntry) {
	if n.Handshake != "" {
		return
	}
	count := t.counts[n.Hook.GetId()]
	if count == nil {
		count = &requestCount{}
		t.counts[n.Hook.GetId()] = count
	}
	count.hook = n.Hook
	count.requests++
	if n.Request.Received.After(count.last) {
		count.last = n.Request.Received
	}
	if n.Reason == deliverylog.ReasonFiltered {
		count.filtered++
	}
	if n.Status >= http.StatusBadRequest {
		count.failures++
		count.reason, count.err, count.request = n.Reason, n.Err, *n.Request
		count.request.Raw, count.request.Wire = nil, nil
	}
}

// take ends the interval if it is due, and returns its counts. They have the sequence of the interval, so one that arrives twice
// counts once.
func (t *traffic) take(now time.Time, all bool) []*orchv1.WebhookTraffic {
	if !all && now.Sub(t.since) < trafficInterval || len(t.counts) == 0 {
		return nil
	}
	out := make([]*orchv1.WebhookTraffic, 0, len(t.counts))
	t.sequence++
	for id, count := range t.counts {
		out = append(out, count.message(id, &orchv1.WebhookTrafficSource{Id: t.source, Sequence: t.sequence}))
	}
	t.since, t.counts = now, map[string]*requestCount{}
	return out
}

func (c *requestCount) message(id string, source *orchv1.WebhookTrafficSource) *orchv1.WebhookTraffic {
	out := &orchv1.WebhookTraffic{
		WebhookId: id, Workspace: c.hook.GetWorkspace(), Name: c.hook.GetName(), Source: source,
		Last: timestamppb.New(c.last), Requests: c.requests, Failures: c.failures, Filtered: c.filtered,
	}
	if c.failures == 0 {
		return out
	}
	if c.reason != "" {
		out.Reason = &c.reason
	}
	if c.err != nil {
		text, _ := redact.Cut(redact.Text(&c.request, c.err.Error()), maxTrafficError)
		out.Error = &text
	}
	return out
}
