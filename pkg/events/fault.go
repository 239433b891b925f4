package events

import (
	"fmt"
	"strings"
)

// FieldError is one thing that is wrong with an event.
type FieldError struct {
	// Path leads from the event to the place: keys (string) and indexes (int).
	Path []any
	// Type is the kind of field error in the words of the API, such as "string_too_short".
	Type string
	// Message says what is wrong, for a person. It does not repeat values.
	Message string
}

// Error is the field error in one line, as "related.3: …", without the API's words for its kind.
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

// valueError is how the API begins to tell of a value that breaks a rule.
const valueError = "Value error, "

// refused is the field error of a value that has the right type and breaks a rule.
func refused(message string, path ...any) FieldError {
	return FieldError{Path: path, Type: "value_error", Message: valueError + message}
}
