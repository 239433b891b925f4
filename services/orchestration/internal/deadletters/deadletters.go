// Package deadletters lets operators see, retry and discard what failed permanently.
//
// Dead letters come from two places, which share one list:
//
//	outbox of a document ──permanent failure──► dead_letter collection ──┐
//	                                                                     ├─► list, read, retry, discard
//	durable consumer of the broker ──rejected──► DLQ stream ─────────────┘
//
// An effect's dead letter is identified by the effect's UUID, an event's by its decimal sequence number in the stream. The
// content of a dead letter is never returned: it may hold secrets.
package deadletters

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/isolation"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves the dead letters of the server.
type Service struct {
	orchv1.UnimplementedDeadLetterServiceServer
	store  *store.Store
	relay  *outbox.Relay
	broker *broker.Conn
}

// New returns the service.
func New(s *store.Store, relay *outbox.Relay, conn *broker.Conn) *Service {
	return &Service{store: s, relay: relay, broker: conn}
}

// position is a dead letter in the list: the outbox's come first.
type position struct {
	effect   uuid.UUID
	event    uint64
	ofBroker bool
}

// parse reads an id. Anything that is neither a UUID nor a sequence number names no dead letter.
func parse(id string) (position, error) {
	if seq, err := strconv.ParseUint(id, 10, 64); err == nil {
		return position{event: seq, ofBroker: true}, nil
	}
	effect, err := uuid.Parse(id)
	if err != nil {
		return position{}, errNotFound()
	}
	return position{effect: effect}, nil
}

func errNotFound() error { return rpc.Detail(http.StatusNotFound, "Dead letter not found") }

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, broker.ErrNotFound) {
		return errNotFound()
	}
	return err
}

// ReadDeadLetters returns a page of the outbox's and the broker's dead letters.
func (s *Service) ReadDeadLetters(ctx context.Context, r *orchv1.ReadDeadLettersRequest) (*orchv1.DeadLetterList, error) {
	limit, err := pagination.Limit(r.GetQuery().GetLimit())
	if err != nil {
		return nil, err
	}
	var after position
	if q := r.GetQuery(); q != nil && q.After != nil {
		if after, err = parse(q.GetAfter()); err != nil {
			return nil, err
		}
	}
	list := &orchv1.DeadLetterList{}
	if !after.ofBroker && limit > 0 {
		effects, err := s.store.DeadLetters(ctx, uuid.Nil, after.effect, limit)
		if err != nil {
			return nil, err
		}
		for _, d := range effects {
			list.DeadLetters = append(list.DeadLetters, ofOutbox(d))
		}
	}
	if rest := int(limit) - len(list.GetDeadLetters()); rest > 0 {
		events, err := s.broker.DeadLetters(ctx, "", after.event, rest)
		if err != nil {
			return nil, err
		}
		for i := range events {
			list.DeadLetters = append(list.DeadLetters, ofBroker(&events[i]))
		}
	}
	return list, nil
}

// ReadDeadLetter returns one dead letter.
func (s *Service) ReadDeadLetter(ctx context.Context, r *orchv1.ReadDeadLetterRequest) (*orchv1.DeadLetter, error) {
	at, err := parse(r.GetId())
	if err != nil {
		return nil, err
	}
	if at.ofBroker {
		d, err := s.broker.DeadLetter(ctx, at.event)
		if err != nil {
			return nil, translate(err)
		}
		return ofBroker(&d), nil
	}
	d, err := s.store.DeadLetter(ctx, at.effect)
	if err != nil {
		return nil, translate(err)
	}
	return ofOutbox(d), nil
}

// RetryDeadLetter executes an effect now, or delivers an event to its consumer again.
func (s *Service) RetryDeadLetter(ctx context.Context, r *orchv1.RetryDeadLetterRequest) (*emptypb.Empty, error) {
	at, err := parse(r.GetId())
	if err != nil {
		return nil, err
	}
	if at.ofBroker {
		if err := s.broker.RetryDeadLetter(ctx, at.event); err != nil {
			return nil, translate(err)
		}
		return &emptypb.Empty{}, nil
	}
	err = s.relay.RetryDeadLetter(ctx, at.effect)
	switch {
	case err == nil:
		return &emptypb.Empty{}, nil
	case isolation.IsOutage(err):
		return nil, err
	case errors.Is(err, outbox.ErrRetryFailed):
		return nil, rpc.Detail(http.StatusConflict, "Dead letter failed again: "+err.Error())
	}
	return nil, translate(err)
}

// DiscardDeadLetter removes a dead letter for good.
func (s *Service) DiscardDeadLetter(ctx context.Context, r *orchv1.DiscardDeadLetterRequest) (*emptypb.Empty, error) {
	at, err := parse(r.GetId())
	if err != nil {
		return nil, err
	}
	if at.ofBroker {
		err = s.broker.DiscardDeadLetter(ctx, at.event)
	} else {
		err = s.relay.DiscardDeadLetter(ctx, at.effect)
	}
	if err != nil {
		return nil, translate(err)
	}
	return &emptypb.Empty{}, nil
}

func ofOutbox(d store.DeadLetter) *orchv1.DeadLetter {
	return &orchv1.DeadLetter{
		Id: d.ID.String(), Source: orchv1.DeadLetterSource_DEAD_LETTER_SOURCE_OUTBOX, Kind: d.Kind,
		Collection: new(string(d.Collection)), DocumentId: new(d.Document.String()), WorkspaceId: optionalID(d.Workspace),
		Reason: d.Reason, Attempts: new(int64(d.Attempts)), Blocking: d.Blocking,
		Occurred: timestamppb.New(d.At), Failed: timestamppb.New(d.FailedAt),
	}
}

func ofBroker(d *broker.DeadLetter) *orchv1.DeadLetter {
	return &orchv1.DeadLetter{
		Id: strconv.FormatUint(d.Seq, 10), Source: orchv1.DeadLetterSource_DEAD_LETTER_SOURCE_BROKER, Kind: d.Durable,
		EventId: optionalID(d.Event.ID), WorkspaceId: optionalID(d.Event.Workspace), Reason: d.Reason, Failed: timestamppb.New(d.At),
	}
}

// optionalID is an id, nil for the nil UUID.
func optionalID(id uuid.UUID) *string {
	if id == uuid.Nil {
		return nil
	}
	return new(id.String())
}
