package broker

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/jsontoken"
)

// Event is one CloudEvent (version 1.0) with JSON data. It is delivered as it was published, Time apart: that arrives in
// UTC, truncated to microseconds.
type Event struct {
	ID        uuid.UUID // Consumers de-duplicate by it and the workspace. Required.
	Source    string    // Required.
	Type      string    // Required.
	Subject   string    // Optional.
	Time      time.Time // Optional; years 1 to 9999.
	Workspace uuid.UUID // The extension attribute orchworkspace. Events of one workspace keep their order.

	// Data is one JSON value, carried byte for byte (white space around it excepted). Nil means none.
	Data json.RawMessage

	// TraceParent and TraceState are the W3C trace context (the distributed tracing extension). Optional.
	TraceParent string
	TraceState  string
}

// Key identifies an event: senders choose the ids, which are unique within a workspace.
type Key struct{ Workspace, ID uuid.UUID }

// Key returns the key by which consumers recognize duplicates.
func (e *Event) Key() Key { return Key{e.Workspace, e.ID} }

// Validate returns why e cannot be published: an error that matches ErrInvalidEvent. It does not check the size.
func (e *Event) Validate() error {
	switch {
	case e.ID == uuid.Nil:
		return fmt.Errorf("%w: no id", ErrInvalidEvent)
	case e.Source == "":
		return fmt.Errorf("%w: no source", ErrInvalidEvent)
	case e.Type == "":
		return fmt.Errorf("%w: no type", ErrInvalidEvent)
	}
	for _, a := range []struct{ name, value string }{
		{"source", e.Source},
		{"type", e.Type},
		{"subject", e.Subject},
		{"traceparent", e.TraceParent},
		{"tracestate", e.TraceState},
	} {
		if !utf8.ValidString(a.value) {
			return fmt.Errorf("%w: %s is not valid UTF-8", ErrInvalidEvent, a.name)
		}
	}
	if y := e.Time.UTC().Year(); !e.Time.IsZero() && (y < 1 || y > 9999) {
		return fmt.Errorf("%w: year %d cannot be written", ErrInvalidEvent, y)
	}
	if len(e.Data) > 0 && !jsontoken.Valid(e.Data) {
		return fmt.Errorf("%w: data is not JSON", ErrInvalidEvent)
	}
	return nil
}

// Fits reports whether the encoded event is at most MaxEventBytes.
func (e *Event) Fits() bool { return len(appendEvent(nil, e)) <= MaxEventBytes }

// canonical is e as consumers will see it.
func (e Event) canonical() Event {
	if !e.Time.IsZero() {
		e.Time = clock.Canonical(e.Time)
	}
	if len(e.Data) == 0 {
		e.Data = nil
	}
	return e
}

// eventSubject is the subject of a shard.
func eventSubject(shard int) string { return subjectPrefix + strconv.Itoa(shard) }

// shard is the number of the subject that carries the events of a workspace.
func shard(workspace uuid.UUID, shards int) int {
	if shards == 1 {
		return 0
	}
	h := fnv.New32a()
	h.Write(workspace[:])
	return int(h.Sum32() % uint32(shards))
}
