package protobson

import (
	"errors"
	"fmt"
	"strconv"
)

var (
	// ErrValue means that a message holds what cannot be stored: a string that is no UUID where one is due, an
	// unspecified enum inside a list, a map key that BSON cannot hold.
	ErrValue = errors.New("value cannot be stored")
	// ErrType means that stored data are of another type than the field.
	ErrType = errors.New("stored value does not fit")
	// ErrCorrupt means that the data are no BSON.
	ErrCorrupt = errors.New("malformed BSON")
	// ErrDepth means that values are nested deeper than the store allows.
	ErrDepth = errors.New("nested too deeply")
	// ErrMessage means that the message has no form as a document: inline and tuple messages are values, and a
	// message with a field that the envelope owns cannot live in a collection.
	ErrMessage = errors.New("message is no document")
	// ErrMask means that a mask names what is no stored top-level field of the message.
	ErrMask = errors.New("mask does not fit the message")
)

// Error tells where in a message or a document something is wrong.
type Error struct {
	// Path is the way from the top: names of fields, keys of maps and positions in lists, joined by dots.
	Path string
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return "protobson: " + e.Path + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// at puts one step in front of the path of err. Only the way out of a failure pays for paths.
func at(step string, err error) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // Only our own, unwrapped error carries a path to extend.
		return &Error{Path: step + "." + e.Path, Err: e.Err}
	}
	return &Error{Path: step, Err: err}
}

func atIndex(i int, err error) error { return at(strconv.Itoa(i), err) }

// top gives an error its final form: one that arose at the very top has no path but the message's name.
func top(message string, err error) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // As in at.
		return e
	}
	return fmt.Errorf("protobson: %s: %w", message, err)
}
