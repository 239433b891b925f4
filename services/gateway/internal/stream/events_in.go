package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/services/gateway/internal/refusals"
)

// maxEvent is the maximum message size of /events/in in bytes; POST /events has the same bound.
const maxEvent = 1_500_000

// eventsIn ingests a client's events, one per message, without acknowledgements except pongs. A pong confirms that all
// events before its ping are durable. An invalid message closes the socket; the events before it are stored.
func (s *Server) eventsIn(ctx context.Context, k *socket) closeReason {
	lost := make(chan struct{})
	in := newIngestion(s.ingestion, func(err error) {
		k.log.WarnContext(ctx, "failed to publish the events of a websocket", "error", err)
		k.end(brokerAway) // Unblocks the reader.
		close(lost)
	})
	k.barrier = in.flush
	end := s.readEvents(ctx, k, in)
	if in.finish() != nil {
		<-lost
		return closedByClient
	}
	return end
}

// awaitQuota waits until the quota of the account has room for an event. Meanwhile the socket is not read, and TCP flow control
// delays the client, so no event is lost. While the server closes, what was read is stored at once. A quota that cannot be checked is
// checked again after quotaRetryInterval.
func (s *Server) awaitQuota(ctx context.Context, k *socket) {
	account := k.info.Account.String()
	for !s.ending() {
		wait, err := s.opts.Events.Wait(ctx, account)
		if err != nil {
			wait = quotaRetryInterval
		}
		if wait == 0 {
			return
		}
		time.Sleep(wait)
	}
}

// quotaRetryInterval is the time between two checks of a quota during an outage of the broker.
const quotaRetryInterval = time.Second

// readEvents reads until the socket ends. The end of the socket unblocks it, so it needs no context.
func (s *Server) readEvents(ctx context.Context, k *socket, in *ingestion) closeReason {
	ctx = context.WithoutCancel(ctx)
	receiver := events.NewReceiver(s.opts.Vocabulary, k.info.Workspace)
	var text []byte
	for {
		var end closeReason
		if text, end = k.readInto(ctx, text); !end.ok() {
			return end
		}
		e, end := s.receive(ctx, k, receiver, text)
		if !end.ok() {
			return end
		}
		s.awaitQuota(ctx, k)
		if end, err := in.put(&e); err != nil {
			return end
		}
		if cap(text) > maxKept {
			text = nil
		}
	}
}

// maxKept is the maximum size in bytes of the buffer that a socket reuses between events.
const maxKept = 16 << 10

// receive decodes and validates an event as POST /events does.
func (s *Server) receive(ctx context.Context, k *socket, r *events.Receiver, text []byte) (broker.Event, closeReason) {
	if len(text) > admission.LargeBody {
		values, ok := jsontoken.CountValues(text, jsontoken.MaxValues)
		if !ok {
			return broker.Event{}, invalidEvent(fmt.Errorf("more than %d values", jsontoken.MaxValues))
		}
		parsed := admission.Parsed(len(text), values)
		if k.memory.Charge(parsed) != nil || k.memory.AcquireProcessor(ctx, len(text)) != nil {
			return broker.Event{}, overloaded
		}
		defer func() {
			k.memory.ReleaseProcessor()
			k.memory.Refund(parsed)
		}()
	}
	e, fieldErrors, err := r.Read(text, time.Now())
	switch {
	case slices.ContainsFunc(fieldErrors, func(f events.FieldError) bool { return f.Type == events.TypeVocabulary }):
		refusal := refusals.Refusal{Client: k.info.UserAgent, Events: true}
		if k.info.Peer.IsValid() {
			refusal.Address = k.info.Peer.String()
		}
		s.opts.Refused.Add(ctx, k.info.Workspace, refusal)
		return broker.Event{}, closeReason{websocket.StatusInvalidFramePayloadData, s.opts.Vocabulary.ShortRefusal()}
	case len(fieldErrors) > 0:
		return broker.Event{}, invalidEvent(fieldErrors[0])
	case err != nil:
		return broker.Event{}, invalidEvent(err)
	}
	return e, closeReason{}
}

func invalidEvent(err error) closeReason {
	if errors.Is(err, broker.ErrTooLarge) {
		return closeReason{websocket.StatusMessageTooBig, "the event is too large"}
	}
	return closeReason{websocket.StatusInvalidFramePayloadData, "invalid event: " + err.Error()}
}
