package events

import (
	wire "github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// bodyError returns a field error of the event at an index of the request body.
func bodyError(position int, f wire.FieldError) *orchv1.FieldError {
	out := &orchv1.FieldError{Msg: f.Message, Type: f.Type}
	for _, step := range append([]any{"body", position}, f.Path...) {
		element := &orchv1.PathElement{}
		switch step := step.(type) {
		case string:
			element.Kind = &orchv1.PathElement_Key{Key: step}
		case int:
			element.Kind = &orchv1.PathElement_Index{Index: int64(step)}
		default:
			continue
		}
		out.Loc = append(out.Loc, element)
	}
	return out
}
