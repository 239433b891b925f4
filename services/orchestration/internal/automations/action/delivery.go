package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/tracing"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Deliveries are the requests of calls and notifications on their way to the receivers that blocks name.
type Deliveries interface {
	// QueueForBlock stores deliveries to the destination of a block. A delivery that was stored before and failed is attempted again.
	QueueForBlock(ctx context.Context, ws uuid.UUID, to *orchv1.Destination, deliveries []*orchv1.DestinationDelivery) error
}

// ErrQueueFull reports a destination with too many deliveries that wait.
var ErrQueueFull = errors.New("the destination has too many deliveries that wait")

// ErrBlock reports a block with which a delivery cannot be sent.
var ErrBlock = errors.New("the block cannot be used")

// deliveryID is the id of the delivery for one receiver of an action. A repeated execution has the same ids, by which receivers recognize
// duplicates too.
func deliveryID(run uuid.UUID, part int) uuid.UUID {
	if part == 0 {
		return run
	}
	return uuid.NewSHA1(run, fmt.Appendf(nil, "part %d", part))
}

// delivers reports whether an action sends its requests as deliveries.
func delivers(a *orchv1.Action) bool {
	return a.GetCallWebhook() != nil || a.GetSendNotification() != nil
}

// queue stores a delivery for each receiver of an action. A delivery has the rendered text alone: its request is made when it is sent, so
// secrets stay in the block. The action ends when its deliveries end.
func (r *Runner) queue(ctx context.Context, o *result, ws uuid.UUID, run *orchv1.AutomationActionRun, b *block, subject, body string) *result {
	id, err := uuid.Parse(run.GetId())
	if err != nil {
		return o.later(fmt.Errorf("read the id of an action: %w", err))
	}
	messages, err := b.messages(subject, body)
	if err != nil {
		return undelivered(o, run, err.Error(), err.Error())
	}
	a, parts := run.GetAutomation(), len(messages)
	deliveries := make([]*orchv1.DestinationDelivery, parts)
	for part := range deliveries {
		deliveries[part] = &orchv1.DestinationDelivery{
			Id: deliveryID(id, part).String(), EventId: run.GetTriggeredEventId(), Event: r.Vocabulary.Name("automation", firedVerb(run)),
			AutomationId: proto.String(a.GetId()), ActionRunId: proto.String(run.GetId()), Part: int32(part), Parts: int32(parts),
			Subject: subject, Body: body, Traceparent: tracing.ParentOf(ctx).Trace,
		}
	}
	to := &orchv1.Destination{
		Id: b.id, BlockDocumentId: proto.String(b.id), Name: b.kind + "/" + b.name, Url: egress.Origin(messages[0].URL),
	}
	err = r.Deliveries.QueueForBlock(ctx, ws, to, deliveries)
	switch {
	case errors.Is(err, ErrQueueFull):
		return undelivered(o, run, err.Error(), err.Error())
	case err != nil:
		return o.later(err)
	}
	o.queued = true
	return o
}

// firedVerb is the verb of the event of a firing.
func firedVerb(run *orchv1.AutomationActionRun) string {
	if run.GetFiring().GetState() == orchv1.TriggerState_TRIGGER_STATE_RESOLVED {
		return "resolved"
	}
	return "triggered"
}

// Request returns the request of a delivery by its block as it is now. The error matches ErrBlock if no other attempt can succeed before the
// block changes.
func (r *Runner) Request(ctx context.Context, ws uuid.UUID, d *orchv1.DestinationDelivery) (*egress.Message, error) {
	ctx, err := r.outgoing(ctx, ws, &orchv1.Automation{Id: d.GetAutomationId()})
	if err != nil {
		return nil, err
	}
	o := newResult()
	b, ok := r.readBlock(ctx, o, "delivery", d.GetDestinationId())
	switch {
	case !ok && o.transient:
		return nil, fmt.Errorf("read the block of a delivery: %w", o.err())
	case !ok:
		return nil, fmt.Errorf("%w: %w", ErrBlock, o.err())
	}
	messages, err := b.messages(d.GetSubject(), d.GetBody())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBlock, err)
	}
	if int(d.GetPart()) >= len(messages) {
		return nil, fmt.Errorf("%w: it names the receiver no more", ErrBlock)
	}
	return messages[d.GetPart()], nil
}

// undelivered is the result of an action one of whose deliveries failed.
func undelivered(o *result, run *orchv1.AutomationActionRun, cause, log string) *result {
	if run.GetAction().GetCallWebhook() != nil {
		return o.fail("Webhook call failed: %s", cause)
	}
	o.details["notification_log"] = log
	return o.fail("Notification failed: %s", cause)
}

// KindDelivered is the effect of a delivery that has ended: it concerns the action run.
const KindDelivered = "automation.delivered"

// Conclude executes effects of KindDelivered. It ends the runs whose deliveries have all ended.
func (r *Runner) Conclude(ctx context.Context, effects []store.Effect) error {
	return store.EachResource(effects, func(ws, id uuid.UUID) error { return r.conclude(ctx, ws, id) })
}

func (r *Runner) conclude(ctx context.Context, ws, id uuid.UUID) error {
	run, err := r.runs.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	o, all, err := r.outcome(ctx, ws, id, run)
	if err != nil || !all {
		return err
	}
	ended := run.Expires != nil
	ctx, span := r.Tracer.Continue(ctx, "action "+engine.ActionType(run.GetAction()), cause(run))
	defer func() { tracing.End(span, o.err()) }()
	switch {
	case !ended:
		err = r.publish(ctx, ws, id, run, o)
	case run.GetReason() == "":
		return nil // The effect is executed again.
	case o.reason == "":
		err = r.publishRetried(ctx, ws, id, run, o)
	}
	if err != nil {
		return err
	}
	return r.end(ctx, ws, id, run, o, func(ctx context.Context, change func(*orchv1.AutomationActionRun)) error {
		_, err := r.runs.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.AutomationActionRun) error {
			change(next)
			return nil
		}, nil))
		return err
	})
}

// outcome returns the result of an action by its deliveries, and whether all of them have ended.
func (r *Runner) outcome(ctx context.Context, ws, id uuid.UUID, run *orchv1.AutomationActionRun) (o *result, all bool, err error) {
	o = newResult()
	o.related = run.GetRelated()
	for part, parts := 0, 1; part < parts; part++ {
		d, err := r.deliveries.Get(ctx, ws, deliveryID(id, part))
		if errors.Is(err, store.ErrNotFound) {
			return undelivered(o, run, "the delivery was deleted", "the delivery was deleted"), true, nil
		}
		if err != nil || d.GetState() == orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_PENDING {
			return nil, false, err
		}
		parts = int(d.GetParts())
		last := &orchv1.DestinationAttempt{}
		if n := len(d.GetLog()); n > 0 {
			last = d.GetLog()[n-1]
		}
		log := d.GetError()
		if last.Status != nil {
			log = fmt.Sprintf("status %d: %s", last.GetStatus(), last.GetResponseBody())
		}
		if run.GetAction().GetCallWebhook() != nil && last.Status != nil {
			o.details["status_code"] = last.GetStatus()
			o.details["response_body"], o.details["response_headers"] = last.GetResponseBody(), last.GetResponseHeaders()
		}
		if d.GetState() == orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_FAILED && o.reason == "" {
			undelivered(o, run, d.GetError(), log)
		}
	}
	return o, true, nil
}
