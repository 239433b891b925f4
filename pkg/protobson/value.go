package protobson

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Value returns the stored form of the whole value of a field, for updates and filters. A list is an array, a map a document. v
// must have the type of the field.
func Value(fd protoreflect.FieldDescriptor, v protoreflect.Value) (bson.RawValue, error) {
	f := fieldOf(fd)
	if f == nil {
		return bson.RawValue{}, fmt.Errorf("protobson: %s is not stored", fd.FullName())
	}
	data, err := f.appendValue(nil, v, 1)
	if err != nil {
		return bson.RawValue{}, at(f.key, err)
	}
	return bson.RawValue{Type: bson.Type(f.typeOf(v)), Value: data}, nil
}

// Key returns the name of a stored field inside its message. It returns false for a computed field, which is not stored.
func Key(fd protoreflect.FieldDescriptor) (string, bool) {
	f := fieldOf(fd)
	if f == nil {
		return "", false
	}
	return f.key, true
}

// AppendSet converts the top-level fields of a mask to an update: it appends the fields that m has to dst, as elements for
// $set, and returns the names of the others, for $unset. Either may be empty; no name occurs twice. The mask must not contain
// the field id, because a document keeps its identity.
func AppendSet(dst []byte, m proto.Message, mask []string) (set []byte, unset []string, err error) {
	r := m.ProtoReflect()
	p, err := documentPlan(r.Descriptor(), true)
	if err != nil {
		return nil, nil, err
	}
	for i, name := range mask {
		if slices.Contains(mask[:i], name) {
			continue
		}
		f := p.byKey[name]
		if f == nil || f == p.id {
			return nil, nil, fmt.Errorf("protobson: %s: %w: %q", p.md.Name(), ErrMask, name)
		}
		if !f.present(r) {
			unset = append(unset, f.key)
			continue
		}
		value := r.Get(f.fd)
		dst = append(append(append(dst, byte(f.typeOf(value))), f.key...), 0)
		// Depth 1 is the document itself.
		if dst, err = f.appendValue(dst, value, 1); err != nil {
			return nil, nil, at(f.key, err)
		}
	}
	return dst, unset, nil
}

// fieldOf returns the field of a descriptor in the plan, or nil if it is not stored.
func fieldOf(fd protoreflect.FieldDescriptor) *field {
	p := planOf(fd.ContainingMessage())
	f := p.byKey[string(fd.Name())]
	if f == nil || f.fd != fd {
		return nil
	}
	return f
}
