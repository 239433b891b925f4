package crud

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Resource is a message with an id.
type Resource interface {
	proto.Message
	GetId() string
}

// Lifecycle describes the lifecycle events of one kind of resource. Its methods return the effects that publish them.
type Lifecycle[M Resource] struct {
	// Store gives the time and the ids of events.
	Store      *store.Store
	Vocabulary vocabulary.Vocabulary
	// Kind is the resource's kind in the event's name: "flow".
	Kind string
	// Name returns the resource's name.
	Name func(M) string
	// Related returns the related resources; nil means none.
	Related func(M) []*orchv1.RelatedResource
	// Payload names the fields of the event's payload. An update's payload also lists the changed fields.
	Payload []protoreflect.Name
}

// Created returns the effect of a creation.
func (l Lifecycle[M]) Created(ctx context.Context, ws uuid.UUID, m M) ([]store.Effect, error) {
	var none M
	return l.effects(ctx, ws, "created", none, m)
}

// Updated returns the effect of a change for store.Edit.
func (l Lifecycle[M]) Updated(ctx context.Context, ws uuid.UUID) func(current, next M) ([]store.Effect, error) {
	return func(current, next M) ([]store.Effect, error) { return l.effects(ctx, ws, "updated", current, next) }
}

// Deleted returns the effect of a deletion for store.Collection.Delete.
func (l Lifecycle[M]) Deleted(ctx context.Context, ws uuid.UUID) func(current M) ([]store.Effect, error) {
	return func(current M) ([]store.Effect, error) {
		var none M
		return l.effects(ctx, ws, "deleted", none, current)
	}
}

func (l Lifecycle[M]) effects(ctx context.Context, ws uuid.UUID, verb string, before, m M) ([]store.Effect, error) {
	effect, err := l.Effect(ctx, ws, verb, before, m)
	if err != nil {
		return nil, err
	}
	return []store.Effect{effect}, nil
}

// Effect returns the effect of one event, whose last related resource is the caller of the request that ctx serves, if there is one.
// before is the previous document, nil if there was none or it is unchanged.
func (l Lifecycle[M]) Effect(ctx context.Context, ws uuid.UUID, verb string, before, m M) (store.Effect, error) {
	id, err := uuid.Parse(m.GetId())
	if err != nil {
		return store.Effect{}, fmt.Errorf("read the id of a %s: %w", l.Kind, err)
	}
	payload, err := events.Payload(m, before, l.Payload...)
	if err != nil {
		return store.Effect{}, err
	}
	event := events.Lifecycle{
		ID: l.Store.NewID(), Kind: l.Kind, Verb: verb, Of: id, Name: l.Name(m), At: l.Store.Now(), Payload: payload,
	}.Event(l.Vocabulary)
	if l.Related != nil {
		event.Related = l.Related(m)
	}
	if info, err := request.Incoming(ctx); err == nil { // The server itself has no request.
		event.Related = append(event.Related, events.Actor(l.Vocabulary, info.Caller)...)
	}
	return events.Publish(ws, event)
}
