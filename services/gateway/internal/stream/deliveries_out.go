package stream

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// deliveryReorder is how much later than others a delivery reaches the log when nothing is wrong.
	deliveryReorder = time.Second
	// deliveryRescan is the time between two reads of the whole overlap.
	deliveryRescan = 10 * time.Second
	// deliveryPage is the number of deliveries in memory at a time; a delivery has at most 256 KiB of a body.
	deliveryPage = 20
	// maxDeliveriesShown bounds the remembered ids of a listener. Beyond it deliveries of the overlap may come again.
	maxDeliveriesShown = 1 << 14
	// maxListen is the maximum size of the message that begins to listen, in bytes.
	maxListen = 4 << 10
)

// listener sends a client the deliveries of a webhook, or of all webhooks of the workspace, from a time on. It reads the log, which the
// feed only wakes, so it holds one page for a client that does not read.
type listener struct {
	caller  rpc.Caller
	socket  *socket
	webhook uuid.UUID // Nil for all webhooks.
	since   time.Time

	positions map[uuid.UUID]*deliveryPosition // By webhook.
	shown     int                             // The number of ids in all positions.

	mu    sync.Mutex
	grown map[uuid.UUID]struct{} // Webhooks whose log has grown since the last read.
}

// deliveryPosition is how far a listener has read the log of a webhook.
type deliveryPosition struct {
	last   time.Time               // When the latest delivery arrived.
	shown  map[uuid.UUID]time.Time // Deliveries of the overlap that the client has.
	rescan bool                    // Something was stored since the last read of the overlap.
}

// deliveriesOut sends a listener the deliveries that arrive. A time in the first message adds the deliveries since that time.
func (s *Server) deliveriesOut(ctx context.Context, k *socket) closeReason {
	l, end := s.newListener(ctx, k)
	if !end.ok() {
		return end
	}
	ctx = k.untilGone(ctx)
	news := make(chan struct{}, 1)
	q := newHint(k.info.Workspace, news, l.grows)
	defer s.deliveries.leave(q)
	if s.deliveries.join(ctx, q) != nil {
		return brokerAway
	}
	announce := func() { _ = feeds.Listeners(s.opts.Broker).Publish(k.info.Workspace, l.webhook) } // The next one follows soon.
	announce()
	if k.write(ctx, fmt.Appendf(nil, `{"type":"listening","since":%q}`, l.since.UTC().Format(time.RFC3339Nano))) != nil {
		return closedByClient
	}
	if end := l.readAll(ctx); !end.ok() {
		return end
	}
	announcing, rescanning := time.NewTicker(feeds.ListenerInterval), time.NewTicker(deliveryRescan)
	defer announcing.Stop()
	defer rescanning.Stop()
	for {
		var end closeReason
		select {
		case <-ctx.Done():
			return closedByClient
		case <-announcing.C:
			announce()
		case <-rescanning.C:
			end = l.rescan(ctx)
		case <-news:
			if end = q.closeReason(); end.ok() {
				end = l.readGrown(ctx)
			}
		}
		if !end.ok() {
			return end
		}
	}
}

// newListener reads the client's first message.
func (s *Server) newListener(ctx context.Context, k *socket) (*listener, closeReason) {
	const expected = "Expected 'listen' message"
	var first struct {
		Type    string     `json:"type"`
		Webhook *uuid.UUID `json:"webhook_id"`
		Since   *time.Time `json:"since"`
	}
	if end := k.hello(ctx, helloTimeout, &first, websocket.StatusProtocolError, expected); !end.ok() {
		return nil, end
	}
	if first.Type != "listen" {
		return nil, closeReason{websocket.StatusProtocolError, expected}
	}
	l := &listener{
		caller: s.opts.Caller, socket: k, since: time.Now(), positions: map[uuid.UUID]*deliveryPosition{}, grown: map[uuid.UUID]struct{}{},
	}
	if first.Since != nil {
		l.since = *first.Since
	}
	if first.Webhook == nil {
		return l, closeReason{}
	}
	l.webhook = *first.Webhook
	_, _, err := l.caller.Call(ctx, orchv1.WebhookService_ReadWebhook_FullMethodName, &orchv1.ReadWebhookRequest{Id: l.webhook.String()})
	return l, l.closeReason(ctx, err)
}

// closeReason is how the socket closes when the log cannot be read.
func (l *listener) closeReason(ctx context.Context, err error) closeReason {
	switch {
	case err == nil:
		return closeReason{}
	case ctx.Err() != nil:
		return closedByClient
	case rpc.HTTPError(err).GetStatus() < http.StatusInternalServerError && rpc.HTTPError(err).GetStatus() != http.StatusTooManyRequests:
		return closeReason{websocket.StatusPolicyViolation, status.Convert(err).Message()}
	}
	l.socket.log.WarnContext(ctx, "failed to read deliveries for a listener", "error", err)
	return storeAway
}

// grows notes a webhook whose log has grown, and reports whether the listener reads it.
func (l *listener) grows(webhook uuid.UUID) bool {
	if l.webhook != uuid.Nil && l.webhook != webhook {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grown[webhook] = struct{}{}
	return true
}

// readAll sends what arrived since the beginning, of all webhooks.
func (l *listener) readAll(ctx context.Context) closeReason {
	if l.webhook != uuid.Nil {
		return l.read(ctx, l.webhook, 0)
	}
	for token := ""; ; {
		answer, reply, err := l.caller.Call(ctx, orchv1.WebhookService_ListWebhooks_FullMethodName, &orchv1.ListWebhooksRequest{PageToken: token})
		if err != nil {
			return l.closeReason(ctx, err)
		}
		for _, w := range answer.(*orchv1.WebhookList).GetWebhooks() {
			id, err := uuid.Parse(w.GetId())
			if err != nil {
				continue // Webhooks have valid ids.
			}
			if end := l.read(ctx, id, 0); !end.ok() {
				return end
			}
		}
		if token = nextPage(reply); token == "" {
			return closeReason{}
		}
	}
}

// readGrown sends what the logs that have grown contain beyond their positions.
func (l *listener) readGrown(ctx context.Context) closeReason {
	l.mu.Lock()
	grown := l.grown
	l.grown = map[uuid.UUID]struct{}{}
	l.mu.Unlock()
	for webhook := range grown {
		if end := l.read(ctx, webhook, deliveryReorder); !end.ok() {
			return end
		}
		if p := l.positions[webhook]; p != nil { // It was not deleted meanwhile.
			p.rescan = true
		}
	}
	return closeReason{}
}

// rescan sends deliveries that reached the log later than others, of logs that have grown since the last time.
func (l *listener) rescan(ctx context.Context) closeReason {
	for webhook, p := range l.positions {
		if !p.rescan {
			continue
		}
		p.rescan = false
		if end := l.read(ctx, webhook, deliverylog.MaxDelay); !end.ok() {
			return end
		}
	}
	return closeReason{}
}

// read sends the deliveries of a webhook that arrived at most overlap before the position. It leaves out deliveries that the client has.
func (l *listener) read(ctx context.Context, webhook uuid.UUID, overlap time.Duration) closeReason {
	p := l.positions[webhook]
	if p == nil {
		p = &deliveryPosition{last: l.since, shown: map[uuid.UUID]time.Time{}}
		l.positions[webhook] = p
	}
	after := p.last.Add(-overlap)
	if after.Before(l.since) {
		after = l.since
	}
	for token := ""; ; {
		answer, reply, err := l.caller.Call(ctx, orchv1.WebhookService_ReadDeliveries_FullMethodName, &orchv1.ReadDeliveriesRequest{
			Id: webhook.String(), Query: &orchv1.WebhookDeliveryQuery{
				Deliveries: &orchv1.WebhookDeliveryFilter{Received: &orchv1.TimeFilter{After_: timestamppb.New(after)}},
				Sort:       orchv1.WebhookDeliverySort_WEBHOOK_DELIVERY_SORT_RECEIVED_ASC,
				Limit:      &orchv1.PageLimit{Value: deliveryPage}, PageToken: token,
			},
		})
		if err != nil && l.webhook == uuid.Nil && rpc.HTTPError(err).GetStatus() == http.StatusNotFound {
			l.forget(webhook)
			return closeReason{}
		}
		if err != nil {
			return l.closeReason(ctx, err)
		}
		for _, d := range answer.(*orchv1.WebhookDeliveryList).GetDeliveries() {
			if end := l.send(ctx, p, d); !end.ok() {
				return end
			}
		}
		if token = nextPage(reply); token == "" {
			return closeReason{}
		}
	}
}

// nextPage returns the token of the next page; empty for none.
func nextPage(reply rpc.Reply) string {
	return reply.Header[strings.ToLower(request.NextPageTokenHeader)]
}

// send sends a delivery that the client does not have.
func (l *listener) send(ctx context.Context, p *deliveryPosition, d *orchv1.WebhookDelivery) closeReason {
	id, err := uuid.Parse(d.GetId())
	if err != nil {
		return closeReason{} // Deliveries have valid ids.
	}
	if _, again := p.shown[id]; again {
		return closeReason{}
	}
	message, err := deliveryMessage(d)
	if err != nil {
		l.socket.log.ErrorContext(ctx, "failed to encode a delivery", "delivery", d.GetId(), "error", err)
		return closeReason{}
	}
	if l.socket.write(ctx, message) != nil {
		return closedByClient
	}
	received := d.GetReceived().AsTime()
	if now := time.Now(); received.After(now) { // A clock that is ahead must not hide later deliveries.
		received = now
	}
	if received.After(p.last) {
		p.last = received
	}
	l.remember(p, id, received)
	return closeReason{}
}

// remember notes a delivery that the client has.
func (l *listener) remember(p *deliveryPosition, id uuid.UUID, received time.Time) {
	if len(p.shown) > 0 && l.shown >= maxDeliveriesShown/2 {
		for old, at := range p.shown {
			if at.Before(p.last.Add(-deliverylog.MaxDelay)) {
				delete(p.shown, old)
				l.shown--
			}
		}
	}
	if l.shown < maxDeliveriesShown {
		p.shown[id] = received
		l.shown++
	}
}

// forget drops the position in the log of a deleted webhook.
func (l *listener) forget(webhook uuid.UUID) {
	l.shown -= len(l.positions[webhook].shown)
	delete(l.positions, webhook)
}

// deliveryMessage is the message that a listener receives for a delivery. The body is there as text and as its bytes.
func deliveryMessage(d *orchv1.WebhookDelivery) ([]byte, error) {
	text, err := restjson.Append([]byte(`{"type":"delivery","delivery":`), d)
	if err != nil {
		return nil, fmt.Errorf("encode delivery: %w", err)
	}
	text = append(text, `,"raw_body":"`...)
	text = base64.StdEncoding.AppendEncode(text, d.GetRawBody())
	return append(text, `"}`...), nil
}
