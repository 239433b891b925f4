package render

import (
	"errors"
	"fmt"
	"strings"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/jsontoken"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// atError is an error of a filter or a template at a position. Its message has the position once: "line 4, column 117: body.device has
// no name". The message for a filter says so.
type atError struct {
	source error // ErrFilter, ErrTemplate or ErrResponse.
	cause  *jinja.Error
}

func (e *atError) Error() string {
	text := fmt.Sprintf("line %d, column %d: %s", e.cause.Line, e.cause.Column, e.cause.Explain())
	if e.source == ErrFilter { //nolint:errorlint // It is one of two values.
		return "filter, " + text
	}
	return text
}

// Unwrap implements errors.Is and errors.As.
func (e *atError) Unwrap() []error { return []error{e.source, e.cause} }

// positioned returns the error of a filter or a template that does not compile or fails. Its source is ErrFilter, ErrTemplate or
// ErrResponse.
func positioned(source, err error) error {
	if at, ok := errors.AsType[*jinja.Error](err); ok && at.Line > 0 {
		return &atError{source, at}
	}
	return fmt.Errorf("%w: %w", source, err)
}

// Place returns the position of an error of Match, Render, Event or a response: in the filter, in the template or, when it wraps
// ErrEvent, in the rendered text. Line and column count from one. It returns false when the error has no single position.
func Place(err error) (line, column int64, ok bool) {
	if at, found := errors.AsType[*atError](err); found {
		return int64(at.cause.Line), int64(at.cause.Column), true
	}
	if at, found := errors.AsType[*jsontoken.SyntaxError](err); found {
		return int64(at.Line), int64(at.Column), true
	}
	if at, found := errors.AsType[*LabelError](err); found {
		return int64(at.Line), int64(at.Column), true
	}
	return 0, 0, false
}

// Message returns the text of an error without the position, for those who show the result of Place beside it.
func Message(err error) string {
	if at, found := errors.AsType[*atError](err); found {
		return strings.Replace(err.Error(), at.Error(), at.cause.Explain(), 1)
	}
	if at, found := errors.AsType[*jsontoken.SyntaxError](err); found {
		return strings.Replace(err.Error(), at.Error(), at.Message, 1)
	}
	return err.Error()
}

// Problem returns an error as the API has it.
func Problem(err error, stage orchv1.WebhookRenderingStage) *orchv1.WebhookRenderingError {
	out := &orchv1.WebhookRenderingError{Message: Message(err), Stage: stage}
	if line, column, ok := Place(err); ok {
		out.Line, out.Column = &line, &column
	}
	return out
}
