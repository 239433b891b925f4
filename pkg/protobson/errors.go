package protobson

import (
	"errors"
	"fmt"
	"strconv"
)

var (
	// ErrValue means that a message holds a value that cannot be stored: an invalid UUID, an unspecified enum inside a list, a
	// map key that BSON cannot hold.
	ErrValue = errors.New("value cannot be stored")
	// ErrType means that stored data have another type than the field.
	ErrType = errors.New("stored value does not fit")
	// ErrCorrupt means that the data are not valid BSON.
	ErrCorrupt = errors.New("malformed BSON")
	// ErrDepth means that values are nested deeper than the store allows.
	ErrDepth = errors.New("nested too deeply")
	// ErrMessage means that the message is not a document: inline and tuple messages are values, and a message with a field of
	// the envelope cannot be in a collection.
	ErrMessage = errors.New("message is not a document")
	// ErrMask means that a mask names something other than a stored top-level field of the message.
	ErrMask = errors.New("mask does not fit the message")
)

// Error adds the path inside a message or document to an error.
type Error struct {
	// Path has the names of fields, keys of maps and positions in lists from the top down, joined by dots.
	Path string
	Err  error
}

// Error returns the message with the path.
func (e *Error) Error() string { return "protobson: " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// at prepends one step to the path of err. Only errors pay for paths.
func at(step string, err error) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // Only our own, unwrapped error carries a path to extend.
		return &Error{Path: step + "." + e.Path, Err: e.Err}
	}
	return &Error{Path: step, Err: err}
}

func atIndex(i int, err error) error { return at(strconv.Itoa(i), err) }

// top completes an error at the top level: without a path it gets the name of the message.
func top(message string, err error) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // As in at.
		return e
	}
	return fmt.Errorf("protobson: %s: %w", message, err)
}
