package engine

import (
	"bytes"
	"errors"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Incoming is an event to evaluate: of the stream, which is decoded only if a trigger may take it, or of the backlog.
type Incoming struct {
	sent  *broker.Event
	event *orchv1.ReceivedEvent
	err   error
}

// FromStream returns the events of a batch.
func FromStream(batch []broker.Event) []Incoming {
	all := make([]Incoming, len(batch))
	for i := range batch {
		all[i].sent = &batch[i]
	}
	return all
}

func fromBacklog(deferred []*orchv1.AutomationHold) []Incoming {
	all := make([]Incoming, len(deferred))
	for i, h := range deferred {
		all[i].event = h.GetEvent()
	}
	return all
}

// ID returns the id of the event.
func (i *Incoming) ID() uuid.UUID {
	if i.sent != nil {
		return i.sent.ID
	}
	id, _ := uuid.Parse(i.event.GetId()) // Every event of the broker has an id.
	return id
}

// Name returns the name of the event.
func (i *Incoming) Name() string {
	if i.sent != nil {
		return i.sent.Type
	}
	return i.event.GetEvent()
}

// mayFollow reports whether the event may follow another one.
func (i *Incoming) mayFollow() bool {
	if i.sent != nil {
		return bytes.Contains(i.sent.Data, []byte(`"follows":"`))
	}
	return i.event.Follows != nil
}

// Decode returns the event. It is decoded once.
func (i *Incoming) Decode() (*orchv1.ReceivedEvent, error) {
	switch {
	case i.event != nil || i.err != nil:
	case i.sent == nil:
		i.err = errors.New("read an event of the backlog: the document has none")
	default:
		i.event, _, i.err = wire.FromBroker(*i.sent)
	}
	return i.event, i.err
}
