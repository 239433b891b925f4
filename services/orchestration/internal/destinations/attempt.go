package destinations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/tracing"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Reasons of failures. Package egress has the reasons of exchanges that failed.
const (
	reasonTemplate = "template"
	reasonBlock    = "block"
	reasonSize     = "size"
	reasonGone     = "gone"
)

// maxLog bounds the attempts that a delivery shows.
const maxLog = 20

// endpoint is what all requests to a destination have in common.
type endpoint struct {
	destination *orchv1.Destination
	headers     map[string]string
	secret      string
	// route is how requests reach the destination, and clientSecret that of the OAuth 2 client.
	route        egress.Route
	clientSecret string
	// interval is the least time between two requests; 0 means none.
	interval time.Duration
}

// endpointOf returns what all requests to a destination have in common.
func (s *Service) endpointOf(ws uuid.UUID, d *orchv1.Destination) (*endpoint, error) {
	headers, err := s.headers(ws, d)
	if err != nil {
		return nil, err
	}
	secret, err := s.secret(ws, d)
	if err != nil {
		return nil, err
	}
	route, err := s.routeOf(ws, d)
	if err != nil {
		return nil, err
	}
	r := &endpoint{destination: d, headers: headers, secret: secret, route: route}
	if d.SealedClientSecret != nil {
		client, err := s.open(ws, d, fieldClientSecret, d.GetSealedClientSecret())
		if err != nil {
			return nil, err
		}
		r.clientSecret = string(client)
	}
	if d.RateLimit != nil {
		r.interval = time.Second / time.Duration(d.GetRateLimit())
	}
	return r, nil
}

// outcome is the result of an attempt.
type outcome struct {
	attempt *orchv1.DestinationAttempt
	// rendered reports that body is the body of the delivery.
	rendered bool
	body     string
	// message is the request, nil before it was sent.
	message *egress.Message
	// pause is what the destination asked for.
	pause time.Duration
	// final reports that no attempt follows.
	final bool
	// neutral reports that the failure says nothing about the destination.
	neutral bool
}

func (o *outcome) delivered() bool { return o.attempt.Reason == nil }

// result is the reason of a failure, or delivered.
func (o *outcome) result() string {
	if o.delivered() {
		return "delivered"
	}
	return o.attempt.GetReason()
}

func (o *outcome) fail(reason string, err error) {
	o.attempt.Reason, o.attempt.Error = proto.String(reason), proto.String(err.Error())
}

// refuse is the failure of a delivery that could not be sent at all.
func (o *outcome) refuse(reason string, err error) {
	o.fail(reason, err)
	o.final, o.neutral = true, true
}

// attempt attempts a delivery and stores the result, which it returns. A delivery that no subscription takes is deleted.
func (cs *session) attempt(ctx context.Context, r *endpoint, d *orchv1.DestinationDelivery) (*orchv1.DestinationDelivery, error) {
	began := cs.sender.service.Store.Now()
	o := &outcome{attempt: &orchv1.DestinationAttempt{Attempted: timestamppb.New(began)}, body: d.GetBody()}
	if d.GetSource() != nil {
		body, matches, err := cs.sender.render(ctx, r.destination, d.GetSource())
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			o.refuse(reasonTemplate, err)
		case !matches:
			return d, cs.remove(d)
		case len(body) > maxBody:
			o.refuse(reasonSize, fmt.Errorf("the body has %d bytes, the limit is %d", len(body), maxBody))
		default:
			o.rendered, o.body = true, body
		}
	}
	if !o.final {
		if err := cs.post(ctx, r, d, o); err != nil {
			return nil, err
		}
	}
	cs.sender.service.Attempted(o.result())
	stored, err := cs.record(r.destination, d, o)
	if err != nil || o.neutral {
		return stored, err
	}
	return stored, cs.judge(o)
}

// post sends the request of a delivery. Its error means that the process ends, and that the delivery remains as it was.
func (cs *session) post(ctx context.Context, r *endpoint, d *orchv1.DestinationDelivery, o *outcome) error {
	s := cs.sender
	select {
	case s.requests <- struct{}{}:
		defer func() { <-s.requests }()
	case <-ctx.Done():
		return ctx.Err()
	}
	m, err := s.service.request(ctx, cs.claim.ws, r, d, o.body)
	if errors.Is(err, action.ErrBlock) {
		o.refuse(reasonBlock, err)
		return nil
	}
	if err != nil {
		return err
	}
	if m.Header.Get("Webhook-Id") == "" {
		m.Header.Set("Webhook-Id", messageID(d.GetId()))
	}
	began := s.service.Store.Now()
	if m.SigningSecret != "" {
		if err := m.Sign(m.SigningSecret, messageID(d.GetId()), began); err != nil {
			return fmt.Errorf("sign a delivery: the secret %w", err)
		}
	}
	sending, span := s.service.Tracer.Continue(cs.sending, "deliver", tracing.Parent{Trace: d.GetTraceparent()})
	response, err := cs.exchange(sending, r, m)
	tracing.End(span, err)
	if err != nil && cs.sending.Err() != nil {
		return errSessionOver
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, errTaken) {
		return err
	}
	now := s.service.Store.Now()
	o.attempt.Latency, o.message = now.Sub(began).Seconds(), m
	if err != nil {
		reason := egress.Reason(err)
		if errors.Is(err, errAuthorization) {
			reason = reasonAuthorization
		}
		o.fail(reason, err)
		o.final = d.ActionRunId != nil && errors.Is(err, safedial.ErrForbidden)
		o.neutral = o.final
		return nil
	}
	o.attempt.Status, o.attempt.ResponseHeaders = proto.Int64(int64(response.Status)), response.ShownHeaders()
	o.attempt.ResponseBody = response.ShownBody()
	switch {
	case m.AnyStatus, response.Status >= http.StatusOK && response.Status < http.StatusMultipleChoices:
	case response.Status == http.StatusGone:
		o.fail(reasonGone, errors.New("the destination responded with status 410"))
		o.final = true
	default:
		o.fail(egress.ReasonStatus, fmt.Errorf("the destination responded with status %d", response.Status))
		o.pause = retryAfter(response.Header, now)
		o.final = d.ActionRunId != nil && refusal(response.Status)
		o.neutral = o.final
	}
	return nil
}

// exchange sends a request, with a token if the destination has an OAuth 2 client. A token that the receiver does not accept is replaced once.
func (cs *session) exchange(ctx context.Context, r *endpoint, m *egress.Message) (*egress.Response, error) {
	client, refused := cs.sender.service.client, ""
	for r.destination.Oauth != nil {
		token, err := cs.token(ctx, r, refused)
		if err != nil {
			return nil, err
		}
		m.SetSecret("Authorization", "Bearer "+token)
		response, err := client.Send(ctx, m)
		if err != nil || response.Status != http.StatusUnauthorized || refused != "" {
			return response, err
		}
		refused = token
	}
	return client.Send(ctx, m)
}

// refusal reports whether a status says that the receiver does not want a call or a notification, so that its automation fails at once. An
// event of a subscription waits until somebody corrects the destination.
func refusal(status int) bool {
	return status < http.StatusInternalServerError && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout
}

// request returns the request of a delivery: that of its block, or one to the address of the destination.
func (s *Service) request(ctx context.Context, ws uuid.UUID, r *endpoint, d *orchv1.DestinationDelivery, body string) (*egress.Message, error) {
	if d.ActionRunId != nil {
		return s.Request(ctx, ws, d)
	}
	m := egress.NewMessage(http.MethodPost, r.destination.GetUrl())
	m.Body, m.SigningSecret, m.Route = []byte(body), r.secret, r.route
	m.Header.Set("Content-Type", "application/json")
	for name, value := range r.headers {
		m.SetSecret(name, value)
	}
	return m, nil
}

// remove deletes a delivery that no subscription takes.
func (cs *session) remove(d *orchv1.DestinationDelivery) error {
	id, err := uuid.Parse(d.GetId())
	if err != nil {
		return fmt.Errorf("read the id of a delivery: %w", err)
	}
	d.NextAttempt = nil
	return cs.sender.service.deliveries.DeleteMany(cs.sending, cs.claim.ws, append(deliveriesOf(cs.claim.id), idIs(id)))
}

// record stores the result of an attempt.
func (cs *session) record(to *orchv1.Destination, d *orchv1.DestinationDelivery, o *outcome) (*orchv1.DestinationDelivery, error) {
	s := cs.sender.service
	id, err := uuid.Parse(d.GetId())
	if err != nil {
		return nil, fmt.Errorf("read the id of a delivery: %w", err)
	}
	now, random := s.Store.Now(), s.Random()
	stored, err := s.deliveries.Mutate(cs.sending, cs.claim.ws, id, store.Edit(func(next *orchv1.DestinationDelivery) error {
		settle(next, o, to, now, random)
		return nil
	}, func(_, next *orchv1.DestinationDelivery) ([]store.Effect, error) {
		switch {
		case next.GetState() == orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_PENDING:
			return nil, nil
		case next.ActionRunId != nil:
			run, err := uuid.Parse(next.GetActionRunId())
			return []store.Effect{s.Store.ResourceEffect(action.KindDelivered, cs.claim.ws, run)}, err
		case next.GetState() == orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_DELIVERED, s.concernsDestinations(next.GetEvent()):
			return nil, nil
		}
		return s.report(cs.claim.ws, to, "delivery-failed", map[string]any{
			"delivery_id": next.GetId(), "event_id": next.GetEventId(), "event": next.GetEvent(), "attempts": next.GetAttempts(), "cause": next.GetError(),
		})
	}))
	if errors.Is(err, store.ErrNotFound) { // The destination was deleted meanwhile.
		return d, nil
	}
	return stored, err
}

// settle applies the result of an attempt to a delivery.
func settle(next *orchv1.DestinationDelivery, o *outcome, to *orchv1.Destination, now time.Time, random float64) {
	next.Attempts++
	next.Log = append(slices.Clone(next.GetLog()[max(0, len(next.GetLog())-maxLog+1):]), o.attempt)
	if next.FirstAttempt == nil {
		next.FirstAttempt = o.attempt.GetAttempted()
	}
	if o.rendered {
		next.Body, next.Source = o.body, nil
	}
	if m := o.message; m != nil {
		next.Address, next.Method, next.Headers = egress.Origin(m.URL), m.Method, m.ShownHeaders()
	}
	next.Reason, next.Error = o.attempt.Reason, o.attempt.Error
	deadline := next.GetFirstAttempt().AsTime().Add(time.Duration(to.GetRetryFor()) * time.Second)
	switch {
	case o.delivered():
		finish(next, orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_DELIVERED, now)
	case o.final, !now.Before(deadline):
		finish(next, orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_FAILED, now)
	default:
		again := now.Add(max(egress.RetryWait(next.GetAttempts(), random), o.pause))
		if again.After(deadline) {
			again = deadline
		}
		next.NextAttempt = timestamppb.New(again)
	}
}

func finish(next *orchv1.DestinationDelivery, state orchv1.DestinationDeliveryState, now time.Time) {
	next.State, next.Finished = state, timestamppb.New(now)
	next.NextAttempt, next.Key, next.WaitingBytes = nil, nil, nil
	next.FinishedBytes = proto.Int64(int64(proto.Size(next)))
}

// judge updates the circuit after an attempt, and reports that the destination begins or ceases to fail. After a probe that succeeded, all
// deliveries are due.
func (cs *session) judge(o *outcome) error {
	s := cs.sender.service
	if o.delivered() {
		cs.mu.Lock()
		closed := cs.circuit == nil
		cs.mu.Unlock()
		if closed {
			return nil
		}
	}
	var before *orchv1.DestinationCircuit
	changed, err := cs.claim.edit(cs.sending, func(next *orchv1.Destination) ([]store.Effect, error) {
		before = next.GetCircuit()
		if o.delivered() {
			next.Circuit = nil
			if before.GetFailingSince() == nil {
				return nil, nil
			}
			return s.report(cs.claim.ws, next, "recovered", map[string]any{"failing_since": before.GetFailingSince().AsTime().UTC()})
		}
		next.Circuit = afterFailure(before, o.attempt.GetError(), o.pause, s.Store.Now(), s.Random())
		if before.GetFailingSince() != nil || next.GetCircuit().GetFailingSince() == nil {
			return nil, nil
		}
		return s.report(cs.claim.ws, next, "failing", map[string]any{"cause": o.attempt.GetError(), "failures": next.GetCircuit().GetFailures()})
	})
	if err != nil {
		return err
	}
	cs.setCircuit(changed.GetCircuit())
	if o.delivered() && probing(before) {
		since := before.GetFailingSince().AsTime() // Deliveries that came since are behind those that failed.
		if before.FailingSince == nil {
			since = s.Store.Now()
		}
		return s.expedite(cs.sending, cs.claim.ws, cs.claim.id, since)
	}
	return nil
}
