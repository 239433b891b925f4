package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReplayDelivery processes the request of a delivery again, by the template of now. The answer is the new delivery, with
// the event or with what is still wrong.
func (s *Service) ReplayDelivery(ctx context.Context, r *orchv1.ReplayDeliveryRequest) (*orchv1.WebhookDelivery, error) {
	info, w, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	d, err := s.delivery(ctx, info.Workspace, r.GetId(), r.GetDeliveryId())
	if err != nil {
		return nil, err
	}
	if reason := notReplayable(d); reason != "" {
		return nil, rpc.Detail(http.StatusConflict, reason)
	}
	return s.replay(ctx, info.Workspace, w, d)
}

// ReplayDeliveries processes the requests of the deliveries that match again, oldest first. Those that cannot be are
// passed over. It ends at the first failure that is not the request's own; what was done until then is in the log.
func (s *Service) ReplayDeliveries(ctx context.Context, r *orchv1.ReplayDeliveriesRequest) (*orchv1.WebhookDeliveryList, error) {
	info, w, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	size, err := pagination.Limit(r.GetQuery().GetLimit())
	if err != nil {
		return nil, err
	}
	q := &orchv1.WebhookDeliveryQuery{Deliveries: r.GetQuery().GetDeliveries()}
	if q.GetDeliveries() == nil {
		failure := int64(http.StatusBadRequest)
		q.Deliveries = &orchv1.WebhookDeliveryFilter{
			Status:          &orchv1.WebhookDeliveryStatusFilter{Ge_: &failure},
			ReplayedEventId: &orchv1.OptionalUuidFilter{IsNull_: proto.Bool(true)},
		}
	}
	found, err := s.logged.Read(ctx, withinWebhook(r.GetId(), q), orchv1.WebhookDeliverySort_WEBHOOK_DELIVERY_SORT_RECEIVED_ASC, 0, size)
	if err != nil {
		return nil, err
	}
	list := &orchv1.WebhookDeliveryList{}
	for _, d := range found {
		if notReplayable(d) != "" {
			continue
		}
		made, err := s.replay(ctx, info.Workspace, w, d)
		if err != nil {
			return nil, err
		}
		list.Deliveries = append(list.Deliveries, made)
	}
	return list, nil
}

// notReplayable says why a delivery cannot be replayed; empty when it can.
func notReplayable(d *orchv1.WebhookDelivery) string {
	switch {
	case d.Handshake != nil:
		return "A handshake makes no event."
	case d.ReplayOf != nil:
		return "The delivery is a replay itself: replay the one it is of."
	case d.GetStatus() == http.StatusUnauthorized || d.GetStatus() == http.StatusForbidden || d.GetStatus() == http.StatusTooManyRequests:
		return "The request was turned away; it never counted as the sender's."
	case d.GetBodyTruncated():
		return "The log does not hold the whole body of the request."
	}
	return ""
}

// replay processes one delivery again, and notes that.
func (s *Service) replay(ctx context.Context, ws uuid.UUID, w *orchv1.Webhook, d *orchv1.WebhookDelivery) (*orchv1.WebhookDelivery, error) {
	start := time.Now()
	r := deliverylog.Request(d)
	id, err := uuid.Parse(w.GetId())
	if err != nil {
		return nil, fmt.Errorf("replay a delivery: %w", err)
	}
	// The log knows no slug and no secret that the webhook had when it was written; those of now may be younger.
	signing, verifyToken, err := webhookdef.OpenSecrets(s.secrets, ws, id, w)
	if err != nil {
		return nil, fmt.Errorf("replay a delivery: %w", err)
	}
	r.Slug, r.Secrets = w.GetSlug(), verify.Notations(append(signing, verifyToken)...)
	made := proto.Clone(d).(*orchv1.WebhookDelivery)
	made.Id = s.webhooks.Store().NewID().String()
	made.Received = timestamppb.New(s.webhooks.Store().Now())
	made.ReplayOf, made.ReplayedEventId, made.Duplicate = &d.Id, nil, false
	made.Event, made.EventId, made.DeduplicationId = nil, nil, nil
	made.Reason, made.Count = nil, 1
	made.Error, made.ErrorLine, made.ErrorColumn, made.Rendered, made.RenderedTruncated = nil, nil, nil, nil, false

	event, text, err := s.produce(ctx, w, ws, r, eventID(d))
	switch {
	case err == nil:
		event.Received = made.GetReceived()
		if err := s.send(ctx, ws, event); err != nil {
			return nil, err
		}
		made.Status, made.Event, made.EventId = http.StatusNoContent, &event.Event, &event.Id
	default:
		reason := "template"
		if text != nil {
			reason = "event"
		}
		made.Status, made.Reason = http.StatusBadRequest, &reason
		deliverylog.Fail(made, r, err, text)
	}
	made.Latency = time.Since(start).Seconds()
	s.noteReplay(ctx, ws, d, made)
	return made, nil
}

// eventID is the id that the event of a replay must have; uuid.Nil means any. The first replay of a delivery that failed
// makes the event that the sender's own duplicates would make, so that there is one.
func eventID(d *orchv1.WebhookDelivery) uuid.UUID {
	if d.DeduplicationId == nil || d.GetStatus() < http.StatusBadRequest || d.ReplayedEventId != nil {
		return uuid.Nil
	}
	id, err := uuid.Parse(d.GetDeduplicationId())
	if err != nil {
		return uuid.Nil
	}
	return id
}

// produce makes the event of a request. When that fails, text is what the template rendered, nil when it did not.
func (s *Service) produce(ctx context.Context, w *orchv1.Webhook, ws uuid.UUID, r *receive.Request, id uuid.UUID) (event *orchv1.ReceivedEvent, text *string, err error) {
	body := r.Body()
	rendered, err := s.renderer.Render(ctx, w.GetTemplate(), r, body)
	if err != nil {
		return nil, nil, err
	}
	definition := &orchv1.WebhookDefinition{Id: w.GetId(), Name: w.GetName(), Workspace: ws.String()}
	event, err = s.renderer.Event(rendered, definition, r, body, id)
	return event, &rendered, err
}

func (s *Service) send(ctx context.Context, ws uuid.UUID, event *orchv1.ReceivedEvent) error {
	carried, err := events.ToBroker(s.vocab, event, ws)
	if err != nil {
		return errors.Join(broker.ErrInvalidEvent, err)
	}
	return s.publisher.Publish(ctx, carried)
}

// noteReplay stores the new delivery, and in the old one that it was replayed with success. The event is published
// already: what fails here is said in the log and nowhere else.
func (s *Service) noteReplay(ctx context.Context, ws uuid.UUID, d, made *orchv1.WebhookDelivery) {
	doc, err := store.NewDocument(ws, made, s.webhooks.Store().Now().Add(s.retention))
	if err == nil {
		err = s.deliveries.InsertNew(ctx, []bson.Raw{doc})
	}
	if err == nil && made.EventId != nil {
		err = s.markReplayed(ctx, ws, d, made.GetEventId())
	}
	if err != nil {
		s.log.WarnContext(ctx, "noting a replay", "delivery", d.GetId(), "error", err)
	}
	presentDelivery(made)
}

func (s *Service) markReplayed(ctx context.Context, ws uuid.UUID, d *orchv1.WebhookDelivery, event string) error {
	id, err := uuid.Parse(d.GetId())
	if err != nil {
		return err
	}
	_, err = s.deliveries.Mutate(ctx, ws, id, func(current *orchv1.WebhookDelivery, _ int64) (*store.Change[*orchv1.WebhookDelivery], error) {
		next := proto.Clone(current).(*orchv1.WebhookDelivery)
		next.ReplayedEventId = &event
		return &store.Change[*orchv1.WebhookDelivery]{Message: next}, nil
	})
	return err
}
