package events

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/isolation"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxRefusals is how often a process attempts to store an event that is refused for a reason which may pass. Then the refusal
// counts as permanent: after about three minutes of redelivery.
const maxRefusals = 5

// maxTracked bounds the events whose refusals a process counts. Another process may have stored a tracked event, and its entry
// then stays. At the bound all counts begin again.
const maxTracked = 10_000

// persistence stores the events of a consumer, batch after batch.
//
//	event ─► document ─► insert ─► record ─► acknowledged
//	            │           │         │
//	            ├───────────┴─────────┴─ permanent, or refused maxRefusals times ─► rejected: a dead letter of its own
//	            │           └─────────┴─ may pass ─► redelivered with its batch; what is stored already is a duplicate
type persistence struct {
	service *Service
	// refusals counts the attempts of events that were refused for a reason which may pass.
	refusals map[broker.Key]int
	docs     documents
	encoded  encodedEvent
}

func newPersistence(s *Service) *persistence {
	return &persistence{service: s, refusals: map[broker.Key]int{}}
}

// record records stored events. It halves a batch that fails until the failing event is alone; recording is idempotent. In
// an outage it attempts nothing more.
func (p *persistence) record(ctx context.Context, events []Received, rejected *broker.Rejected) error {
	if len(events) == 0 {
		return nil
	}
	err := p.service.record(ctx, events)
	var unrecordable *broker.Rejected
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unrecordable):
		rejected.Merge(unrecordable)
		return nil
	case isolation.IsOutage(err):
		return err
	case len(events) == 1:
		return p.refuse(rejected, events[0].key(), err)
	}
	half := len(events) / 2
	err = p.record(ctx, events[:half], rejected)
	if isolation.IsOutage(err) {
		return err
	}
	return errors.Join(err, p.record(ctx, events[half:], rejected))
}

// settle refuses the events that the database refused, and records the others. In an outage it attempts nothing more.
func (p *persistence) settle(ctx context.Context, events []persisted, refused []store.Refusal, rejected *broker.Rejected) error {
	var failures []error
	for _, r := range refused {
		err := p.refuse(rejected, events[r.Position].key, r.Err)
		if isolation.IsOutage(err) {
			return err
		}
		failures = append(failures, err)
	}
	return errors.Join(append(failures, p.record(ctx, recordable(events, refused), rejected))...)
}

// refuse rejects an event whose error is permanent, or that was refused too often. Otherwise it returns the error, and the
// event is to be redelivered.
func (p *persistence) refuse(rejected *broker.Rejected, key broker.Key, err error) error {
	if isolation.IsOutage(err) {
		return err
	}
	if !store.IsPermanent(err) {
		if len(p.refusals) >= maxTracked {
			clear(p.refusals)
		}
		if p.refusals[key]++; p.refusals[key] < maxRefusals {
			return err
		}
	}
	rejected.Reject(key, err)
	return nil
}

func (r Received) key() broker.Key {
	id, _ := uuid.Parse(r.Event.GetId()) // Every stored event has an id.
	return broker.Key{Workspace: r.Workspace, ID: id}
}

// recordable are the events that may be recorded and were not refused, in their order.
func recordable(events []persisted, refused []store.Refusal) []Received {
	var rest []Received
	for i, e := range events {
		if e.event != nil && !slices.ContainsFunc(refused, func(r store.Refusal) bool { return r.Position == i }) {
			rest = append(rest, Received{e.key.Workspace, e.event})
		}
	}
	return rest
}
