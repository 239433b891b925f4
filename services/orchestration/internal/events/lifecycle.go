package events

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindPublish is the effect that publishes an event.
const KindPublish = "event"

// Lifecycle describes an event of one of the server's own resources.
type Lifecycle struct {
	ID   uuid.UUID
	Kind string // "flow"
	Verb string // "created"
	Of   uuid.UUID
	Name string
	At   time.Time
	// Payload is a JSON object; nil means an empty one.
	Payload []byte
}

// Event builds the event with the names of the vocabulary.
func (l Lifecycle) Event(v vocabulary.Vocabulary) *orchv1.ReceivedEvent {
	return &orchv1.ReceivedEvent{
		Id:       l.ID.String(),
		Occurred: timestamppb.New(l.At),
		Received: timestamppb.New(l.At),
		Event:    v.Name(l.Kind, l.Verb),
		Resource: &orchv1.Resource{Labels: map[string]string{
			v.ResourceID():   v.Name(l.Kind, l.Of.String()),
			v.ResourceName(): l.Name,
		}},
		Payload: l.Payload,
	}
}

// Related returns a related resource of the server itself.
func Related(v vocabulary.Vocabulary, kind, id, role, name string) *orchv1.RelatedResource {
	labels := map[string]string{v.ResourceID(): v.Name(kind, id), v.ResourceRole(): role}
	if name != "" {
		labels[v.ResourceName()] = name
	}
	return &orchv1.RelatedResource{Labels: labels}
}

// Actor returns the caller of a request as a related resource; none if the server does not know who calls.
func Actor(v vocabulary.Vocabulary, caller request.Caller) []*orchv1.RelatedResource {
	if !caller.Known() {
		return nil
	}
	kind := "user"
	if caller.ServiceAccount {
		kind = "service-account"
	}
	return []*orchv1.RelatedResource{{Labels: map[string]string{
		v.ResourceID(): v.CloudName(kind, caller.ID.String()), v.ResourceRole(): "actor",
	}}}
}

// Publish returns the effect that publishes an event of a workspace. It is idempotent, since the event keeps its id.
// The effect has another id: the event may share its id with the state that caused it, and so with the effect that
// writes the state's history.
func Publish(ws uuid.UUID, e *orchv1.ReceivedEvent) (store.Effect, error) {
	id, err := uuid.Parse(e.GetId())
	if err != nil {
		return store.Effect{}, fmt.Errorf("publish event: parse id: %w", err)
	}
	body, err := proto.MarshalOptions{}.MarshalAppend(append([]byte(nil), ws[:]...), e)
	if err != nil {
		return store.Effect{}, fmt.Errorf("publish event: %w", err)
	}
	return store.Effect{ID: uuid.NewSHA1(id, []byte(KindPublish)), At: e.GetReceived().AsTime(), Kind: KindPublish, Body: body}, nil
}

func published(e store.Effect) (uuid.UUID, *orchv1.ReceivedEvent, error) {
	if len(e.Body) < len(uuid.UUID{}) {
		return uuid.Nil, nil, fmt.Errorf("read an effect: %d bytes are no event", len(e.Body))
	}
	ws := uuid.UUID(e.Body[:16])
	event := &orchv1.ReceivedEvent{}
	if err := proto.Unmarshal(e.Body[16:], event); err != nil {
		return uuid.Nil, nil, fmt.Errorf("read an effect: %w", err)
	}
	return ws, event, nil
}
