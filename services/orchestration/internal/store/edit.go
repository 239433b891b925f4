package store

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Edit returns the decision that most changes need. edit changes a copy of the document, and effects returns the
// effects of the difference; nil means none. Without a difference nothing is written or caused.
func Edit[M proto.Message](edit func(next M) error, effects func(current, next M) ([]Effect, error)) Decide[M] {
	return func(current M, _ int64) (*Change[M], error) {
		next := proto.CloneOf(current)
		if err := edit(next); err != nil {
			return nil, err
		}
		if proto.Equal(current, next) {
			return nil, nil
		}
		change := &Change[M]{Message: next}
		if effects == nil {
			return change, nil
		}
		var err error
		if change.Effects, err = effects(current, next); err != nil {
			return nil, err
		}
		return change, nil
	}
}

// ReplaceWith returns an edit that replaces a document. Its times are unchanged, because the store sets them.
func ReplaceWith[M proto.Message](wanted M) func(next M) error {
	return func(next M) error {
		current := proto.CloneOf(next).ProtoReflect()
		proto.Reset(next)
		proto.Merge(next, wanted)
		for _, name := range []protoreflect.Name{"created", "updated"} {
			if fd := current.Descriptor().Fields().ByName(name); fd != nil && current.Has(fd) {
				next.ProtoReflect().Set(fd, current.Get(fd))
			}
		}
		return nil
	}
}
