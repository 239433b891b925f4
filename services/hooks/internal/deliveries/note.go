package deliveries

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Note is what became of one request. What it points to must not be changed any more.
type Note struct {
	ID      uuid.UUID
	Hook    *orchv1.WebhookDefinition
	Request *receive.Request
	// From is the address of the sender, empty when it is not known.
	From   string
	Status int
	Took   time.Duration
	// Err is what was wrong; nil when nothing was. Its message is for the webhook's owner.
	Err error
	// Rendered is what the template rendered; nil for what did not fail.
	Rendered *string
	// Event is the name of the event that was made, and its id or that of the event that was repeated.
	Event   string
	EventID string
	// DeduplicationID is the id that every event of this delivery has; uuid.Nil when repeats are not known.
	DeduplicationID uuid.UUID
	Duplicate       bool
	Handshake       string
	// WithoutBody leaves the body out, of requests that did not prove who they are.
	WithoutBody bool

	sent int64 // The length of the body.
}

// trim lets go of what would not be kept: a request of many megabytes must not wait in memory for its excerpt.
func (n *Note) trim() {
	n.sent = int64(len(n.Request.Wire))
	if n.Rendered != nil && len(*n.Rendered) > receive.Excerpt+1 {
		text := strings.Clone((*n.Rendered)[:receive.Excerpt+1]) // One byte more, so that it is known to be cut.
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

// size is about how much memory the note holds.
func (n *Note) size() int {
	size := 1024 + len(n.Request.Raw)
	if n.Rendered != nil {
		size += len(*n.Rendered)
	}
	return size
}

// delivery is the note as the log keeps it.
func (n *Note) delivery() *orchv1.WebhookDelivery {
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
	d.Event, d.EventId = optional(n.Event), optional(n.EventID)
	if n.DeduplicationID != uuid.Nil {
		id := n.DeduplicationID.String()
		d.DeduplicationId = &id
	}
	if n.Err != nil {
		deliverylog.Fail(d, r, n.Err, n.Rendered)
	}
	for name, value := range d.GetHeaders() {
		d.Headers[name] = strings.ToValidUTF8(value, "\ufffd")
	}
	d.Query, d.Path = strings.ToValidUTF8(d.GetQuery(), "\ufffd"), strings.ToValidUTF8(d.GetPath(), "\ufffd")
	return d
}
