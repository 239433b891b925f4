package render

import (
	"errors"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/jsontoken"
)

// Place returns the position of an error of Render or Event: in the template or, when it wraps ErrEvent, in the
// rendered text. Line and column count from one. It returns false when the error has no single position.
func Place(err error) (line, column int64, ok bool) {
	if at, found := errors.AsType[*jinja.Error](err); found && at.Line > 0 {
		return int64(at.Line), int64(at.Column), true
	}
	if at, found := errors.AsType[*jsontoken.SyntaxError](err); found {
		return int64(at.Line), int64(at.Column), true
	}
	return 0, 0, false
}
