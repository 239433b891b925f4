// Package isolation keeps a failure of one tenant or document from ending the work for the others.
//
//	items ──► work on one ──┬─ done ─────► next
//	                        ├─ failure ──► logged and counted, the item is put aside ──► next
//	                        └─ outage ───► next, until maxOutages in a row: the pass ends, since nothing can succeed
//
// A failure concerns one item: another attempt may fail again, and the other items are not affected. An outage concerns all of
// them: the store or the broker is unavailable. A single slow item looks like an outage, so the first one does not end a pass.
package isolation

import (
	"context"
	"errors"
)

var (
	// ErrOutage matches errors that say nothing about the item: a service that everything depends on is unavailable.
	ErrOutage = errors.New("unavailable")
	// ErrPermanent matches errors that every further attempt would return again.
	ErrPermanent = errors.New("permanent")
)

// classified is a sentinel error that belongs to a class.
type classified struct {
	text  string
	class error
}

func (e *classified) Error() string        { return e.text }
func (e *classified) Is(target error) bool { return target == e.class }

// NewOutage returns a sentinel error that matches ErrOutage.
func NewOutage(text string) error { return &classified{text, ErrOutage} }

// NewPermanent returns a sentinel error that matches ErrPermanent.
func NewPermanent(text string) error { return &classified{text, ErrPermanent} }

// IsOutage reports whether an error says nothing about the item that met it: a service is unavailable, or the time is over.
func IsOutage(err error) bool {
	return errors.Is(err, ErrOutage) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
