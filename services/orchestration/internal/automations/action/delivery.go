package action

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/webhook/redact"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxLogged bounds the body of a call in the delivery log, in bytes.
const maxLogged = 64 << 10

// messageID is the same for all attempts of an action. Receivers of signed calls recognize duplicates by it.
func messageID(run *orchv1.AutomationActionRun) string { return "msg_" + run.GetId() }

// newDelivery describes an attempt, without credentials: those of headers are masked, and of the address only the host is kept.
func newDelivery(run *orchv1.AutomationActionRun, action *orchv1.CallWebhook, m *egress.Message, began time.Time) *orchv1.AutomationDelivery {
	body, cut := redact.Cut(string(m.Body), maxLogged)
	return &orchv1.AutomationDelivery{
		AutomationId: run.GetAutomation().GetId(), BlockDocumentId: action.GetBlockDocumentId(), Attempted: timestamppb.New(began),
		Attempt: int64(run.GetAttempts()), MessageId: messageID(run), Method: m.Method, Destination: egress.Origin(m.URL),
		Headers: m.ShownHeaders(), Body: body, BodyTruncated: cut, Size: int64(len(m.Body)),
	}
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
