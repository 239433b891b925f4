package parameters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// form is a partially filled form. Blanks stand in for markers without a value.
type form struct {
	value any
	// Blanks are the reasons for missing values by placeholder; an empty reason means that the value will be known
	// later.
	blanks map[string]string
}

// blank returns a unique placeholder for a marker without a value.
func (f *form) blank(why string) ([]byte, error) {
	name := uuid.NewString()
	f.blanks[name] = why
	return text(name)
}

// form hydrates values. Its error reports an internal failure.
func (h *Hydrator) form(ctx context.Context, ws uuid.UUID, values []byte) (*form, error) {
	f := &form{blanks: map[string]string{}}
	raw, err := hydration{h, ctx, ws, f}.value(values)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		raw = []byte("null")
	}
	if f.value, err = jsonschema.UnmarshalJSON(bytes.NewReader(raw)); err != nil {
		return nil, fmt.Errorf("read the values of a form: %w", err)
	}
	return f, nil
}

// field error is one invalid value.
type fieldError struct {
	location []step
	reason   string
}

// step leads into a value: to a member of an object, or to an element of a list.
type step struct {
	key   string
	index int64 // Negative for a member.
}

// field errors are all errors of a form in the order of their locations.
func (s *Schema) fieldErrors(f *form) ([]fieldError, error) {
	var found []fieldError
	err := s.compiled.Validate(f.value)
	var invalid *jsonschema.ValidationError
	if err != nil && !errors.As(err, &invalid) {
		return nil, err
	}
	if invalid != nil {
		if circular(invalid) {
			return nil, errCircular
		}
		found = f.leaves(invalid)
	}
	found = append(found, f.missing(f.value, nil)...)
	slices.SortStableFunc(found, func(a, b fieldError) int {
		return slices.CompareFunc(a.location, b.location, func(a, b step) int {
			if a.index != b.index {
				return int(a.index - b.index)
			}
			return strings.Compare(a.key, b.key)
		})
	})
	return found, nil
}

// leaves returns the individual errors of a validation. Of alternatives it returns the last one's, as explain does.
func (f *form) leaves(e *jsonschema.ValidationError) []fieldError {
	causes := e.Causes
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		causes = causes[max(0, len(causes)-1):]
	}
	if len(causes) > 0 {
		var found []fieldError
		for _, cause := range causes {
			found = append(found, f.leaves(cause)...)
		}
		return found
	}
	location, blank := f.steps(e.InstanceLocation)
	if blank {
		return nil
	}
	if required, ok := e.ErrorKind.(*kind.Required); ok {
		var found []fieldError
		for _, name := range required.Missing {
			found = append(found, fieldError{append(slices.Clip(location), step{name, -1}), fmt.Sprintf("'%s' is a required property", name)})
		}
		return found
	}
	return []fieldError{{location, reason(e.ErrorKind, at(f.value, e.InstanceLocation))}}
}

// steps parses a location and reports whether it leads to a blank.
func (f *form) steps(location []string) (steps []step, blank bool) {
	value := f.value
	for _, name := range location {
		s := step{name, -1}
		if _, list := value.([]any); list {
			if i, err := strconv.ParseInt(name, 10, 64); err == nil {
				s = step{"", i}
			}
		}
		steps, value = append(steps, s), below(value, name)
	}
	name, _ := value.(string)
	_, blank = f.blanks[name]
	return steps, blank
}

// missing returns the locations that will never have a value, and why.
func (f *form) missing(value any, location []step) []fieldError {
	var found []fieldError
	switch value := value.(type) {
	case string:
		if why := f.blanks[value]; why != "" {
			found = append(found, fieldError{location, why})
		}
	case []any:
		for i, item := range value {
			found = append(found, f.missing(item, append(slices.Clip(location), step{"", int64(i)}))...)
		}
	case map[string]any:
		for key, item := range value {
			found = append(found, f.missing(item, append(slices.Clip(location), step{key, -1}))...)
		}
	}
	return found
}

// nest groups errors by the parts of the value.
func nest(fieldErrors []fieldError) []*orchv1.SchemaValueError {
	var root []*orchv1.SchemaValueError
	for _, f := range fieldErrors {
		list := &root
		for i, s := range f.location {
			list = s.in(list, i == len(f.location)-1)
		}
		*list = append(*list, &orchv1.SchemaValueError{Kind: &orchv1.SchemaValueError_Reason{Reason: f.reason}})
	}
	return root
}

// in returns the error list of the part that a step leads to. The last step of an error has an entry of its own.
func (s step) in(list *[]*orchv1.SchemaValueError, last bool) *[]*orchv1.SchemaValueError {
	for _, e := range *list {
		switch {
		case last:
		case s.index >= 0 && e.GetIndex() != nil && e.GetIndex().GetIndex() == s.index:
			return &e.GetIndex().Errors
		case s.index < 0 && e.GetProperty() != nil && e.GetProperty().GetProperty() == s.key:
			return &e.GetProperty().Errors
		}
	}
	if s.index >= 0 {
		entry := &orchv1.SchemaValueIndexError{Index: s.index}
		*list = append(*list, &orchv1.SchemaValueError{Kind: &orchv1.SchemaValueError_Index{Index: entry}})
		return &entry.Errors
	}
	entry := &orchv1.SchemaValuePropertyError{Property: s.key}
	*list = append(*list, &orchv1.SchemaValueError{Kind: &orchv1.SchemaValueError_Property{Property: entry}})
	return &entry.Errors
}

// filled returns the value of a form's marker, or a blank if it has none.
func (f *form) filled(value []byte, err error) ([]byte, error) {
	if refused, ok := errors.AsType[*HydrationError](err); ok {
		return f.blank(refused.Reason)
	}
	return value, err
}
