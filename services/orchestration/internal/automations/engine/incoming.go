package engine

import (
	"bytes"
	"errors"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// incoming is an event to evaluate: of the stream, which is decoded only if a trigger may take it, or of the backlog.
type incoming struct {
	sent  *broker.Event
	event *orchv1.ReceivedEvent
	err   error
}

func fromStream(batch []broker.Event) []incoming {
	all := make([]incoming, len(batch))
	for i := range batch {
		all[i].sent = &batch[i]
	}
	return all
}

func fromBacklog(deferred []*orchv1.AutomationHold) []incoming {
	all := make([]incoming, len(deferred))
	for i, h := range deferred {
		all[i].event = h.GetEvent()
	}
	return all
}

func (i *incoming) id() uuid.UUID {
	if i.sent != nil {
		return i.sent.ID
	}
	id, _ := uuid.Parse(i.event.GetId()) // Every event of the broker has an id.
	return id
}

func (i *incoming) name() string {
	if i.sent != nil {
		return i.sent.Type
	}
	return i.event.GetEvent()
}

// mayFollow reports whether the event may follow another one.
func (i *incoming) mayFollow() bool {
	if i.sent != nil {
		return bytes.Contains(i.sent.Data, []byte(`"follows":"`))
	}
	return i.event.Follows != nil
}

// decode returns the event. It is decoded once.
func (i *incoming) decode() (*orchv1.ReceivedEvent, error) {
	switch {
	case i.event != nil || i.err != nil:
	case i.sent == nil:
		i.err = errors.New("read an event of the backlog: the document has none")
	default:
		i.event, _, i.err = wire.FromBroker(*i.sent)
	}
	return i.event, i.err
}
