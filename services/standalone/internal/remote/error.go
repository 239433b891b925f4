package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Error is an error response of the server.
type Error struct {
	Status int
	// Detail is the server's explanation; empty if it gives none.
	Detail string
}

func (e *Error) Error() string {
	if e.Status == http.StatusUnauthorized {
		return "the server requires authentication (401); run `orch login`"
	}
	if e.Detail == "" {
		return fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%s (%d)", e.Detail, e.Status)
}

// IsStatus reports whether an error is a response with a status.
func IsStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// newError parses the forms of error responses: {"detail"}, {"exception_message"}, and the latter with a list of field
// errors.
func newError(status int, body []byte) *Error {
	var form struct {
		Detail      json.RawMessage `json:"detail"`
		Message     string          `json:"exception_message"`
		FieldErrors []struct {
			Loc []any  `json:"loc"`
			Msg string `json:"msg"`
		} `json:"exception_detail"`
	}
	e := &Error{Status: status}
	if json.Unmarshal(body, &form) != nil {
		return e
	}
	if len(form.FieldErrors) > 0 {
		parts := make([]string, 0, len(form.FieldErrors))
		for _, fieldError := range form.FieldErrors {
			parts = append(parts, fieldText(fieldError.Loc, fieldError.Msg))
		}
		e.Detail = strings.Join(parts, "; ")
		return e
	}
	if json.Unmarshal(form.Detail, &e.Detail) != nil {
		e.Detail = string(form.Detail)
	}
	if e.Detail == "" {
		e.Detail = form.Message
	}
	return e
}

// fieldText describes a field error in the words of the field: users of commands see neither a body nor a validator.
func fieldText(loc []any, message string) string {
	if len(loc) > 1 && loc[0] == "body" {
		loc = loc[1:]
	}
	path := make([]string, len(loc))
	for i, step := range loc {
		path[i] = fmt.Sprint(step)
	}
	return strings.Join(path, ".") + ": " + strings.TrimPrefix(message, "Value error, ")
}
