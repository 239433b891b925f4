package store

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Edit is the decision of most changes: edit turns a copy of the document into what it is to be, and effects says what the
// difference causes; nil is nothing. An edit that changes nothing is not written and causes nothing.
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

// Become is the edit that makes a document what was asked for. Its times stay: they are the store's.
func Become[M proto.Message](asked M) func(next M) error {
	return func(next M) error {
		kept := proto.CloneOf(next).ProtoReflect()
		proto.Reset(next)
		proto.Merge(next, asked)
		for _, name := range []protoreflect.Name{"created", "updated"} {
			if fd := kept.Descriptor().Fields().ByName(name); fd != nil && kept.Has(fd) {
				next.ProtoReflect().Set(fd, kept.Get(fd))
			}
		}
		return nil
	}
}
