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

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Reasons of failures. Package egress has the reasons of exchanges that failed.
const (
	reasonTemplate = "template"
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
	r := &endpoint{destination: d, headers: headers, secret: secret}
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
	// headers are those of the request, as logs show them.
	headers map[string]string
	// pause is what the destination asked for.
	pause time.Duration
	// final reports that no attempt follows.
	final bool
}

func (o *outcome) delivered() bool { return o.attempt.Reason == nil }

func (o *outcome) fail(reason string, err error) {
	o.attempt.Reason, o.attempt.Error = proto.String(reason), proto.String(err.Error())
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
			o.fail(reasonTemplate, err)
			o.final = true
		case !matches:
			return d, cs.remove(d)
		case len(body) > maxBody:
			o.fail(reasonSize, fmt.Errorf("the body has %d bytes, the limit is %d", len(body), maxBody))
			o.final = true
		default:
			o.rendered, o.body = true, body
		}
	}
	if !o.final {
		if err := cs.post(ctx, r, d, o); err != nil {
			return nil, err
		}
	}
	stored, err := cs.record(r.destination, d, o)
	if err != nil || o.attempt.GetReason() == reasonTemplate || o.attempt.GetReason() == reasonSize {
		return stored, err // It says nothing about the destination.
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
	m := egress.NewMessage(http.MethodPost, r.destination.GetUrl())
	m.Body = []byte(o.body)
	m.Header.Set("Content-Type", "application/json")
	for name, value := range r.headers {
		m.SetSecret(name, value)
	}
	m.Header.Set("Webhook-Id", messageID(d.GetId()))
	began := s.service.Store.Now()
	if r.secret != "" {
		if err := m.Sign(r.secret, messageID(d.GetId()), began); err != nil {
			return fmt.Errorf("sign a delivery: the secret %w", err)
		}
	}
	response, err := s.service.client.Send(cs.sending, m)
	if err != nil && cs.sending.Err() != nil {
		return errSessionOver
	}
	now := s.service.Store.Now()
	o.attempt.Latency, o.headers = now.Sub(began).Seconds(), m.ShownHeaders()
	if err != nil {
		o.fail(egress.Reason(err), err)
		return nil
	}
	o.attempt.Status, o.attempt.ResponseHeaders = proto.Int64(int64(response.Status)), response.ShownHeaders()
	o.attempt.ResponseBody = response.ShownBody()
	switch {
	case response.Status >= http.StatusOK && response.Status < http.StatusMultipleChoices:
	case response.Status == http.StatusGone:
		o.fail(reasonGone, errors.New("the destination responded with status 410"))
		o.final = true
	default:
		o.fail(egress.ReasonStatus, fmt.Errorf("the destination responded with status %d", response.Status))
		o.pause = retryAfter(response.Header, now)
	}
	return nil
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
		if next.GetState() != orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_FAILED {
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
	if o.headers != nil {
		next.Address, next.Headers = egress.Origin(to.GetUrl()), o.headers
	}
	next.Reason, next.Error = o.attempt.Reason, o.attempt.Error
	deadline := next.GetFirstAttempt().AsTime().Add(time.Duration(to.GetRetryFor()) * time.Second)
	switch {
	case o.delivered():
		finish(next, orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_DELIVERED, now)
	case o.final, !now.Before(deadline):
		finish(next, orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_FAILED, now)
	default:
		again := now.Add(max(retryWait(next.GetAttempts(), random), o.pause))
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
