package deliveries

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// LogEntry is a request with its outcome. Nobody may change what it points to.
type LogEntry struct {
	ID      uuid.UUID
	Hook    *orchv1.WebhookDefinition
	Request *receive.Request
	// From is the address of the sender; empty when it is unknown.
	From   string
	Status int
	Took   time.Duration
	Outcome
	// Count is the number of requests that the entry stands for; 0 means 1.
	Count int64

	sent int64 // The length of the body.
}

// Outcome is how a request ended, for the webhook's owner.
type Outcome struct {
	// Err is the cause of the failure, or of a failing filter that dropped the request; nil otherwise. The webhook's owner reads its message.
	Err error
	// Reason is why there is no event; see the proto field.
	Reason string
	// Refused marks a request that was refused before its sender was verified. Such entries are grouped and counted.
	Refused bool
	// Rendered is what the template rendered; nil for a success.
	Rendered *string
	// Event is the name of the published event; EventID is its id, or for a duplicate that of the earlier event.
	Event   string
	EventID string
	// EventIDs are the ids of all events of a request that became several; empty for others.
	EventIDs []string
	// DeduplicationID is the event id of this delivery and its duplicates; uuid.Nil when duplicates are not recognised.
	DeduplicationID uuid.UUID
	Duplicate       bool
	Handshake       string
	// Response is what the sender received by the response of the webhook; nil for none.
	Response *orchv1.WebhookRenderedResponse
	// WithoutBody leaves out the body, of requests whose sender was not verified.
	WithoutBody bool
}

// trim drops what the log does not keep, so a request of many megabytes does not wait in memory for its excerpt.
func (n *LogEntry) trim() {
	n.sent = int64(len(n.Request.Wire))
	if n.Rendered != nil && len(*n.Rendered) > receive.Excerpt+1 {
		text := strings.Clone((*n.Rendered)[:receive.Excerpt+1]) // One byte more shows that it is cut.
		n.Rendered = &text
	}
	r := *n.Request
	switch {
	case n.WithoutBody:
		r.TooLarge = r.TooLarge || len(r.Raw) > 0
		r.Raw = nil
	case len(r.Raw) > deliverylog.MaxBody:
		r.Raw, r.TooLarge = slices.Clone(r.Raw[:deliverylog.MaxBody]), true
	}
	r.Wire = nil
	n.Request = &r
}

// size is an estimate of the entry's memory, in bytes.
func (n *LogEntry) size() int {
	size := 1024 + len(n.Request.Raw) + len(n.Request.Query) + len(n.Request.Path)
	for _, f := range n.Request.Header {
		size += len(f.Name) + len(f.Value)
	}
	if n.Rendered != nil {
		size += len(*n.Rendered)
	}
	if n.Response != nil {
		size += proto.Size(n.Response)
	}
	return size
}

// delivery is the stored form of the entry.
func (n *LogEntry) delivery() *orchv1.WebhookDelivery {
	r := n.Request
	d := deliverylog.Of(r)
	d.Id, d.WebhookId, d.Workspace = n.ID.String(), n.Hook.GetId(), n.Hook.GetWorkspace()
	d.Size = n.sent
	d.Status, d.Latency, d.Duplicate = int64(n.Status), n.Took.Seconds(), n.Duplicate
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		s = strings.ToValidUTF8(s, "\ufffd")
		return &s
	}
	d.RemoteAddress, d.Handshake = optional(n.From), optional(n.Handshake)
	d.Event, d.EventId, d.EventIds = optional(n.Event), optional(n.EventID), n.EventIDs
	if n.DeduplicationID != uuid.Nil {
		id := n.DeduplicationID.String()
		d.DeduplicationId = &id
	}
	d.Reason, d.Count, d.Refused = optional(n.Reason), max(n.Count, 1), n.Refused
	if n.Err != nil {
		deliverylog.Fail(d, r, n.Err, n.Rendered)
	}
	deliverylog.SetResponse(d, r, n.Response)
	for name, value := range d.GetHeaders() {
		d.Headers[name] = strings.ToValidUTF8(value, "\ufffd")
	}
	d.Query, d.Path = strings.ToValidUTF8(d.GetQuery(), "\ufffd"), strings.ToValidUTF8(d.GetPath(), "\ufffd")
	return d
}
