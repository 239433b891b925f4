package action

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/webhook/redact"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// The reasons of attempts that failed: the values of AutomationDelivery.reason.
const (
	reasonAddress    = "address" // The server may not connect to it.
	reasonConnection = "connection"
	reasonTimeout    = "timeout"
	reasonStatus     = "status"
)

// maxLogged bounds the body of a call in the delivery log, in bytes.
const maxLogged = 64 << 10

// messageID is the same for all attempts of an action. Receivers of signed calls recognize duplicates by it.
func messageID(run *orchv1.AutomationActionRun) string { return "msg_" + run.GetId() }

// descriptive are headers that describe a message. Those of a block are shown; all others are secrets, as the schema of the
// block states.
var descriptive = []string{"accept", "content-encoding", "content-type", "user-agent"}

// newDelivery describes an attempt, without credentials: those of headers are masked, and of the address only the host is kept.
func newDelivery(run *orchv1.AutomationActionRun, action *orchv1.CallWebhook, m *message, began time.Time) *orchv1.AutomationDelivery {
	body, cut := redact.Cut(string(m.body), maxLogged)
	d := &orchv1.AutomationDelivery{
		AutomationId: run.GetAutomation().GetId(), BlockDocumentId: action.GetBlockDocumentId(), Attempted: timestamppb.New(began),
		Attempt: int64(run.GetAttempts()), MessageId: messageID(run), Method: m.method, Destination: m.host(),
		Headers: map[string]string{}, Body: body, BodyTruncated: cut, Size: int64(len(m.body)),
	}
	for name, values := range m.header {
		name = strings.ToLower(name)
		d.Headers[name] = strings.ToValidUTF8(strings.Join(values, ", "), "\ufffd")
		if redact.Credential(name) || m.secret[name] {
			d.Headers[name] = redact.Mask
		}
	}
	return d
}

// host returns scheme, host and port of the address.
func (m *message) host() string {
	target, err := url.Parse(m.url)
	if err != nil {
		return ""
	}
	return target.Scheme + "://" + target.Host
}

// receiver returns the address of the receiver in a canonical form: in lower case, and always with a port.
func (m *message) receiver() string {
	target, err := url.Parse(m.url)
	if err != nil {
		return ""
	}
	port := target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[target.Scheme]
	}
	return target.Scheme + "://" + net.JoinHostPort(strings.ToLower(strings.TrimSuffix(target.Hostname(), ".")), port)
}

// unsentReason is why there is no response.
func unsentReason(err error) string {
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, safedial.ErrForbidden):
		return reasonAddress
	case errors.Is(err, context.DeadlineExceeded), isNet && timeout.Timeout():
		return reasonTimeout
	}
	return reasonConnection
}

// record writes an attempt into the automation's delivery log. The call is over, so a failure is only logged.
func (r *Runner) record(ctx context.Context, ws uuid.UUID, d *orchv1.AutomationDelivery, o *result) {
	d.Id = r.Store.NewID().String()
	if d.Delivered = o.reason == ""; d.Delivered {
		d.Reason = nil
	} else {
		d.Error = &o.reason
	}
	err := r.insertDelivery(context.WithoutCancel(ctx), ws, d)
	if err != nil {
		r.Log.WarnContext(ctx, "failed to record a call of a webhook", "automation", d.GetAutomationId(), "error", err)
	}
}

// insertDelivery stores a delivery and removes the oldest ones of its automation.
func (r *Runner) insertDelivery(ctx context.Context, ws uuid.UUID, d *orchv1.AutomationDelivery) error {
	automation, err := uuid.Parse(d.GetAutomationId())
	if err != nil {
		return err
	}
	doc, err := store.NewDocument(ws, d, r.Store.Now().Add(r.Retention))
	if err != nil {
		return err
	}
	if err := r.deliveries.InsertNew(ctx, []bson.Raw{doc}); err != nil {
		return err
	}
	attempted := func(d *orchv1.AutomationDelivery) time.Time { return d.GetAttempted().AsTime() }
	own := bson.D{{Key: "automation_id", Value: store.Binary(automation)}}
	return store.KeepNewest(ctx, r.deliveries, ws, own, "attempted", attempted, r.MaxDeliveries)
}
