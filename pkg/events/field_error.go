package events

import (
	"fmt"
	"strings"
)

// FieldError describes one invalid field of an event.
type FieldError struct {
	// Path locates the field in the event: keys (string) and indexes (int).
	Path []any
	// Type is the error type of the API, such as "string_too_short".
	Type string
	// Message describes the error for people. It does not repeat values.
	Message string
}

// Error formats the field error in one line, as "related.3: …", without its type.
func (f FieldError) Error() string {
	var b strings.Builder
	for i, step := range f.Path {
		if i > 0 {
			b.WriteByte('.')
		}
		fmt.Fprint(&b, step)
	}
	if len(f.Path) > 0 {
		b.WriteString(": ")
	}
	b.WriteString(strings.TrimPrefix(f.Message, valueError))
	return b.String()
}

// valueError is the prefix of the API's messages for values that break a rule.
const valueError = "Value error, "

// TypeVocabulary is the type of the error about an event with the names of another vocabulary.
const TypeVocabulary = "vocabulary"

// refused returns the field error of a value of the right type that breaks a rule.
func refused(message string, path ...any) FieldError {
	return FieldError{Path: path, Type: "value_error", Message: valueError + message}
}
