package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Error is an answer that refuses.
type Error struct {
	Status int
	// Detail is what the server says of it; empty when it says nothing.
	Detail string
}

func (e *Error) Error() string {
	if e.Status == http.StatusUnauthorized {
		return "the server does not know who asks (401): `orch login` gives it a key"
	}
	if e.Detail == "" {
		return fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%s (%d)", e.Detail, e.Status)
}

// IsStatus tells whether an error is an answer of a status.
func IsStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// newError reads the forms that errors have: {"detail"}, {"exception_message"}, and the latter with a list of faults,
// each with the path of its field.
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
			path := make([]string, 0, len(fieldError.Loc))
			for _, step := range fieldError.Loc {
				path = append(path, fmt.Sprint(step))
			}
			parts = append(parts, strings.Join(path, ".")+": "+fieldError.Msg)
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
