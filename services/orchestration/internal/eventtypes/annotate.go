package eventtypes

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/eventtypes/conformance"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// roleViolated is the role of the event type whose pinned schema an event violates.
const roleViolated = "violated-schema"

// errPinned is the error for schemas that replicas pinned at the same time, beyond maxPinned.
var errPinned = errors.New("the pinned schemas of the workspace take too much memory: events are not checked against this one")

// Annotate adds the event type as a related resource to the events of a batch that violate its pinned schema. The error is an outage.
func (s *Service) Annotate(ctx context.Context, batch []broker.Event) error {
	if err := s.readBatch(ctx, batch, s.readKnown); err != nil {
		return err
	}
	s.annotate(batch)
	return nil
}

// readPin reads and compiles the schema that was pinned at a time. The read of its event type began at now.
func (s *Service) readPin(ctx context.Context, ws, id uuid.UUID, pinned int64, now time.Time) error {
	t, err := s.types.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	schema, err := conformance.Compile(t.GetPinnedSchema())
	if !s.register.setPin(ws, t.GetName(), pinned, schema, now) { // Without a schema if it cannot be compiled.
		return errPinned
	}
	return err
}

// annotate replaces the data of events that violate their pinned schemas.
func (s *Service) annotate(batch []broker.Event) {
	for i := range batch {
		e := &batch[i]
		id, schema := s.register.pin(e.Workspace, e.Type)
		if schema == nil {
			continue
		}
		event, ws, err := wire.FromBroker(*e)
		if err != nil {
			continue // The consumer rejects it.
		}
		violation := schema.Check(event.GetPayload())
		if violation == nil {
			continue
		}
		related := s.related(id, event.GetEvent(), violation)
		event.Related = append(slices.DeleteFunc(event.GetRelated(), func(r *orchv1.RelatedResource) bool { // A redelivered event has an older one.
			return r.GetLabels()[s.Vocabulary.ResourceID()] == related.GetLabels()[s.Vocabulary.ResourceID()]
		}), related)
		if annotated, err := wire.NewWriter(s.Vocabulary).Write(event, ws); err == nil {
			e.Data = annotated.Data
		}
	}
}

// related is the related resource of an event that violates the pinned schema of its event type.
func (s *Service) related(id uuid.UUID, name string, v *conformance.Violation) *orchv1.RelatedResource {
	return &orchv1.RelatedResource{Labels: map[string]string{
		s.Vocabulary.ResourceID():             s.resourceID(id.String()),
		s.Vocabulary.ResourceRole():           roleViolated,
		s.Vocabulary.ResourceName():           name,
		s.Vocabulary.Name("schema", "path"):   v.Path,
		s.Vocabulary.Name("schema", "reason"): v.Reason,
	}}
}
