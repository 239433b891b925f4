package restjson

import (
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Hot paths read options and shapes, but finding an extension walks the options message each time. The caches grow to the
// number of descriptors in the program at most.
var (
	fieldOptions sync.Map // protoreflect.FieldDescriptor → *orchv1.RestField
	shapeOptions sync.Map // protoreflect.MessageDescriptor → *orchv1.RestShape
)

// Options returns the (rest) option of a field, never nil. The result is shared; do not change it.
func Options(fd protoreflect.FieldDescriptor) *orchv1.RestField {
	if o, ok := fieldOptions.Load(fd); ok {
		return o.(*orchv1.RestField)
	}
	o, _ := proto.GetExtension(fd.Options(), orchv1.E_Rest).(*orchv1.RestField)
	if o == nil {
		o = &orchv1.RestField{}
	}
	v, _ := fieldOptions.LoadOrStore(fd, o)
	return v.(*orchv1.RestField)
}

// Shape returns the (shape) option of a message, never nil. The result is shared; do not change it.
func Shape(md protoreflect.MessageDescriptor) *orchv1.RestShape {
	if o, ok := shapeOptions.Load(md); ok {
		return o.(*orchv1.RestShape)
	}
	o, _ := proto.GetExtension(md.Options(), orchv1.E_Shape).(*orchv1.RestShape)
	if o == nil {
		o = &orchv1.RestShape{}
	}
	v, _ := shapeOptions.LoadOrStore(md, o)
	return v.(*orchv1.RestShape)
}

// Name returns the JSON key, parameter or header name of a field.
func Name(fd protoreflect.FieldDescriptor) string {
	if n := Options(fd).GetName(); n != "" {
		return n
	}
	return string(fd.Name())
}

// Internal reports whether a field is stored and sent between services, but never part of REST.
func Internal(fd protoreflect.FieldDescriptor) bool { return Options(fd).GetInternal() }

// Secret reports whether REST accepts a field but never returns it.
func Secret(fd protoreflect.FieldDescriptor) bool { return Options(fd).GetSecret() }

// Computed reports whether REST returns a field that is not stored.
func Computed(fd protoreflect.FieldDescriptor) bool { return Options(fd).GetComputed() }

// Required reports whether the key or parameter must be present; it may still be null if the field is optional.
func Required(fd protoreflect.FieldDescriptor) bool { return Options(fd).GetRequired() }

// Union returns the oneof of a message that is a union (rule 8): every field is a member of one real oneof. It returns nil for
// any other message.
func Union(md protoreflect.MessageDescriptor) protoreflect.OneofDescriptor {
	if md.Oneofs().Len() == 0 {
		return nil
	}
	od := md.Oneofs().Get(0)
	if od.IsSynthetic() || od.Fields().Len() != md.Fields().Len() {
		return nil
	}
	return od
}
