package webhooks

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReplayDelivery renders the request of a delivery again with the current template. It returns the new delivery, with
// the event or the error.
func (s *Service) ReplayDelivery(ctx context.Context, r *orchv1.ReplayDeliveryRequest) (*orchv1.WebhookDelivery, error) {
	info, w, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	d, err := s.delivery(ctx, info.Workspace, r.GetId(), r.GetDeliveryId())
	if err != nil {
		return nil, err
	}
	if reason := deliverylog.NotReplayable(d); reason != "" {
		return nil, rpc.Detail(http.StatusConflict, reason)
	}
	return s.replay(ctx, info.Workspace, w, d)
}

// ReplayDeliveries replays the matching deliveries, oldest first. It skips those that cannot be replayed. It stops at
// the first failure of the server; the log contains the replays until then.
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
		// Refused requests, which are not replayed, must not fill the page.
		q.Deliveries = &orchv1.WebhookDeliveryFilter{
			Reason:          &orchv1.WebhookDeliveryTextFilter{Any_: &orchv1.StringList{Values: deliverylog.VerifiedReasons()}},
			ReplayedEventId: &orchv1.OptionalUuidFilter{IsNull_: proto.Bool(true)},
		}
	}
	found, err := s.replayable(ctx, withinWebhook(r.GetId(), q), size)
	if err != nil {
		return nil, err
	}
	list := &orchv1.WebhookDeliveryList{}
	for _, d := range found {
		replayed, err := s.replay(ctx, info.Workspace, w, d)
		if err != nil {
			return nil, err
		}
		list.Deliveries = append(list.Deliveries, replayed)
	}
	return list, nil
}

// replayPage is the number of deliveries that replayable reads at a time.
const replayPage = 50

// replayable returns the oldest deliveries that match and can be replayed. It reads the log page by page, because deliveries
// that cannot be replayed, such as earlier replays, must not hide the others.
func (s *Service) replayable(ctx context.Context, q *orchv1.WebhookDeliveryQuery, limit int64) ([]*orchv1.WebhookDelivery, error) {
	var found []*orchv1.WebhookDelivery
	if limit == 0 {
		return nil, nil
	}
	order := orchv1.WebhookDeliverySort_WEBHOOK_DELIVERY_SORT_RECEIVED_ASC
	err := s.logged.Walk(ctx, q, order, replayPage, func(d *orchv1.WebhookDelivery) bool {
		if deliverylog.NotReplayable(d) == "" {
			found = append(found, d)
		}
		return int64(len(found)) < limit
	})
	return found, err
}

// replay replays one delivery, and records the replay.
func (s *Service) replay(ctx context.Context, ws uuid.UUID, w *orchv1.Webhook, d *orchv1.WebhookDelivery) (*orchv1.WebhookDelivery, error) {
	start := time.Now()
	r, err := s.recordedRequest(ws, w, d)
	if err != nil {
		return nil, fmt.Errorf("replay delivery: %w", err)
	}
	replayed := proto.Clone(d).(*orchv1.WebhookDelivery)
	replayed.Id = s.webhooks.Store().NewID().String()
	replayed.Received = timestamppb.New(s.webhooks.Store().Now())
	replayed.ReplayOf, replayed.ReplayedEventId, replayed.Duplicate = &d.Id, nil, false
	replayed.Event, replayed.EventId, replayed.EventIds, replayed.DeduplicationId = nil, nil, nil, nil
	replayed.Reason, replayed.Count = nil, 1
	replayed.Error, replayed.ErrorLine, replayed.ErrorColumn, replayed.Rendered, replayed.RenderedTruncated = nil, nil, nil, nil, false

	tried := s.attempt(ctx, ws, w, r, eventID(d), replayed.GetReceived())
	replayed.Status = tried.status()
	switch {
	case tried.filtered:
		replayed.Reason = &tried.reason
		if tried.err != nil {
			deliverylog.Fail(replayed, r, tried.err, nil)
		}
	case tried.err != nil:
		replayed.Reason = &tried.reason
		deliverylog.Fail(replayed, r, tried.err, tried.rendered)
	case tried.handshake != "":
		replayed.Handshake = &tried.handshake
	default:
		if err := s.publisher.Publish(ctx, tried.encoded...); err != nil {
			return nil, err
		}
		replayed.Event, replayed.EventId = &tried.events[0].Event, &tried.events[0].Id
		if len(tried.events) > 1 {
			for _, event := range tried.events {
				replayed.EventIds = append(replayed.EventIds, event.GetId())
			}
		}
	}
	deliverylog.SetResponse(replayed, r, tried.response)
	replayed.Latency = time.Since(start).Seconds()
	s.noteReplay(ctx, ws, d, replayed)
	return replayed, nil
}

// eventID returns the required id of a replay's event; uuid.Nil means any. The first replay of a failed or filtered delivery uses
// the id that the sender's duplicates would have, so there is only one event.
func eventID(d *orchv1.WebhookDelivery) uuid.UUID {
	published := d.GetStatus() < http.StatusBadRequest && d.GetReason() != deliverylog.ReasonFiltered
	if d.DeduplicationId == nil || published || d.ReplayedEventId != nil {
		return uuid.Nil
	}
	id, err := uuid.Parse(d.GetDeduplicationId())
	if err != nil {
		return uuid.Nil
	}
	return id
}

// noteReplay stores the new delivery, and marks the old one as replayed on success. The event is already published, so
// errors are only logged.
func (s *Service) noteReplay(ctx context.Context, ws uuid.UUID, d, replayed *orchv1.WebhookDelivery) {
	doc, err := store.NewDocument(ws, replayed, s.webhooks.Store().Now().Add(s.retention))
	if err == nil {
		err = s.deliveries.InsertNew(ctx, []bson.Raw{doc})
	}
	if err == nil && replayed.EventId != nil {
		err = s.markReplayed(ctx, ws, d, replayed.GetEventId())
	}
	if err != nil {
		s.log.WarnContext(ctx, "failed to record a replay", "delivery", d.GetId(), "error", err)
	}
	if webhook, err := uuid.Parse(replayed.GetWebhookId()); err == nil {
		s.recorded(ws, webhook)
	}
	presentDelivery(replayed)
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
