// Package eventtypes lists the names of the events of each workspace, with a schema of their payloads.
//
//	persist ─► Prepare: names of a batch ─► event type, before the first event of the name is stored
//	        ─► Observe: payload ─► schema of the sample ─┐
//	                                                     ├─ merged in memory ─► Recorder, once a second ─► event type
//	           time of the event ────────────────────────┘  written if it changes the event type
//
// A user pins a schema to a name. The consumer that stores events and the consumer that evaluates automations check the events of the name:
// Annotate adds a related resource to an event that violates the schema. So automations, destinations and searches select such
// events as they select others.
//
// The consumer that stores events has them in memory, so nothing is read again for an event. A name is stored before its events are
// acknowledged; a sample that a crash loses follows with another event. Merging is commutative and idempotent, so redelivered events
// and replicas side by side lead to the same schema.
//
// A process reads the event types of active names every few seconds, so it learns what other replicas and clients changed.
package eventtypes

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxTypes bounds the event types of a workspace, and maxName the bytes of a name. Further names, and longer ones, are not listed.
	maxTypes = 1000
	maxName  = 1024
	// maxSchema bounds the text of a schema, in bytes.
	maxSchema = 64 << 10
	// maxPinned bounds the memory of the pinned schemas of a workspace.
	maxPinned = 4 << 20
	// maxViolations is the number at which the count of violations ends.
	maxViolations = 10_000
	// unseenAfter is how long an event type without events is kept.
	unseenAfter = 30 * 24 * time.Hour
)

// Deps are the dependencies of the service.
type Deps struct {
	Store      *store.Store
	Vocabulary vocabulary.Vocabulary
	// LastOccurred returns the time of the last stored event of a name; the zero time means none.
	LastOccurred func(ctx context.Context, ws uuid.UUID, name string) (time.Time, error)
	// CountWith counts the stored events that have a resource, up to a limit.
	CountWith func(ctx context.Context, ws uuid.UUID, resource string, limit int64) (int64, error)
}

// Service serves event types.
type Service struct {
	orchv1.UnimplementedEventTypeServiceServer
	Deps
	types    *store.Collection[*orchv1.EventType]
	source   pagination.Source[*orchv1.EventType]
	register *register
}

// New returns the service.
func New(d Deps) *Service {
	types := store.NewCollection(d.Store, query.EventType, &orchv1.EventType{})
	return &Service{
		Deps:     d,
		types:    types,
		source:   pagination.NewSource(types, orchv1.EventTypeSort_EVENT_TYPE_SORT_NAME_ASC),
		register: newRegister(),
	}
}
