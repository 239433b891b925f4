package broker

import (
	"errors"
	"fmt"
)

var (
	// ErrUnavailable means that the event was not acknowledged: the broker is away, full or too slow, or this process
	// has too many events waiting. The caller should answer 503. The event may be stored all the same.
	ErrUnavailable = errors.New("broker: unavailable")

	// ErrTooLarge means that the event exceeds MaxEventBytes. It was not sent.
	ErrTooLarge = errors.New("broker: event too large")

	// ErrInvalidEvent means that the event cannot be written as a CloudEvent. It was not sent.
	ErrInvalidEvent = errors.New("broker: invalid event")

	// ErrClosed means that the connection was closed by its owner. It matches ErrUnavailable too.
	ErrClosed = fmt.Errorf("%w: closed", ErrUnavailable)

	// ErrLazySync is returned by Connect when a server acknowledges before it has flushed to the disk.
	ErrLazySync = errors.New("broker: the server acknowledges before fsync")

	// ErrSyncUnknown is returned by Connect when the servers do not tell whether they flush before the acknowledgement.
	ErrSyncUnknown = errors.New("broker: the server's sync_interval cannot be verified")

	// ErrMaxPayload is returned by Connect when the server's max_payload is below MinMaxPayload.
	ErrMaxPayload = errors.New("broker: the server's max_payload is too small")

	// ErrStreamMismatch is returned by Connect when the stream exists with settings that break the promise.
	ErrStreamMismatch = errors.New("broker: the stream exists with other settings")

	// ErrNotFound is returned for a dead letter that does not exist (any more).
	ErrNotFound = errors.New("broker: not found")
)

// Rejected is returned by a handler of Consume for events that can never be handled, whatever is tried. They are
// written to the dead-letter stream, each alone; the rest of the batch counts as handled. Keys that are not in the batch
// are ignored.
type Rejected struct {
	Keys []Key
	Err  error // The reason, kept with each dead letter.
}

// Error implements error.
func (r *Rejected) Error() string {
	return fmt.Sprintf("broker: %d events rejected: %v", len(r.Keys), r.Err)
}

// Unwrap gives the reason.
func (r *Rejected) Unwrap() error { return r.Err }
