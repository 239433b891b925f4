package protobson

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Value gives the stored form of a field's whole value, which for a list or a map is the whole array or document: what
// an update sets the field to, or what a filter compares it with. v must be of the field's type.
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

// Item gives the stored form of one item of a list, or of the value of a field that is no list.
func Item(fd protoreflect.FieldDescriptor, v protoreflect.Value) (bson.RawValue, error) {
	f := fieldOf(fd)
	if f == nil || fd.IsMap() {
		return bson.RawValue{}, fmt.Errorf("protobson: %s has no stored items", fd.FullName())
	}
	data, err := f.item.append(nil, v, 1)
	if err != nil {
		return bson.RawValue{}, at(f.key, err)
	}
	return bson.RawValue{Type: bson.Type(f.item.typeOf(v)), Value: data}, nil
}

// Key gives the name under which a field is stored inside its message; false when it is computed and so not stored.
func Key(fd protoreflect.FieldDescriptor) (string, bool) {
	f := fieldOf(fd)
	if f == nil {
		return "", false
	}
	return f.key, true
}

// AppendSet turns the top-level fields that a mask names into what an update needs: those that are set in m are appended to
// dst as elements, and the names of those that are not are returned. The two can be the operands of $set and $unset; either
// may be empty, and no name is in both or twice. The field id cannot be named: a document keeps its identity.
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

// fieldOf finds the plan's field of a descriptor, or nil when it is not stored.
func fieldOf(fd protoreflect.FieldDescriptor) *field {
	p := planOf(fd.ContainingMessage())
	f := p.byKey[string(fd.Name())]
	if f == nil || f.fd != fd {
		return nil
	}
	return f
}
