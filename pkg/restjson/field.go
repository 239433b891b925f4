package restjson

import (
	"regexp"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/jsontoken"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// kind is the JSON form of one value: of the field, of an item of its list or of a value of its map.
type kind uint8

const (
	kindBool kind = iota
	kindInt32
	kindInt64
	kindUint32
	kindUint64
	kindFloat
	kindDouble
	kindString
	kindUUID
	kindJSON
	kindObject
	kindEnum
	kindTimestamp
	kindDuration
	kindMessage
)

// field holds what encoder and decoder need to know about a field.
type field struct {
	desc     protoreflect.FieldDescriptor
	value    protoreflect.FieldDescriptor // of a map: its value; else desc
	name     string                       // the JSON key
	key      []byte                       // `"name":`
	kind     kind
	list     bool
	isMap    bool
	optional bool
	index    int // in plan.fields
	opts     *orchv1.RestField
	words    *enumNames
	sub      *plan
	pattern  *regexp.Regexp
	def      protoreflect.Value // the default, if it is a scalar
}

func (b builder) field(p *plan, fd protoreflect.FieldDescriptor) *field {
	f := &field{
		desc:     fd,
		value:    fd,
		name:     Name(fd),
		list:     fd.IsList(),
		isMap:    fd.IsMap(),
		optional: fd.HasOptionalKeyword(),
		opts:     Options(fd),
	}
	f.key = append(jsontoken.AppendString(nil, f.name), ':')
	f.pattern = compile(p, f.opts.GetPattern())
	if f.isMap {
		f.value = fd.MapValue()
		if fd.MapKey().Kind() != protoreflect.StringKind {
			p.fail("%s: the keys of a map are strings", fd.Name())
		}
	}
	switch f.value.Kind() {
	case protoreflect.BoolKind:
		f.kind = kindBool
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		f.kind = kindInt32
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		f.kind = kindInt64
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		f.kind = kindUint32
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		f.kind = kindUint64
	case protoreflect.FloatKind:
		f.kind = kindFloat
	case protoreflect.DoubleKind:
		f.kind = kindDouble
	case protoreflect.StringKind:
		f.kind = kindString
		if f.opts.GetFormat() == orchv1.Format_FORMAT_UUID {
			f.kind = kindUUID
		}
	case protoreflect.BytesKind:
		f.kind = kindJSON
		if f.opts.GetFormat() == orchv1.Format_FORMAT_JSON_OBJECT {
			f.kind = kindObject
		}
	case protoreflect.EnumKind:
		f.kind = kindEnum
		f.words = wordsOf(f.value.Enum())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		switch f.value.Message().FullName() {
		case "google.protobuf.Timestamp":
			f.kind = kindTimestamp
		case "google.protobuf.Duration":
			f.kind = kindDuration
		default:
			f.kind = kindMessage
			f.sub = b.message(f.value.Message())
		}
	}
	return f
}

// finish parses the default once, so building the plan finds an invalid one.
func (f *field) finish(p *plan) {
	text := f.opts.GetDefault()
	if text == "" || f.list || f.isMap || f.kind == kindMessage {
		return
	}
	d := newDecoder([]byte(text))
	v, ok := d.scalar(f)
	d.End()
	if !ok || len(d.fieldErrors) > 0 {
		p.fail("%s: the default %s is not a value of the field", f.name, text)
		return
	}
	f.def = v
}

// single reports whether the field is one value, neither list nor map.
func (f *field) single() bool { return !f.list && !f.isMap }

// inner returns the field whose JSON this field has: it unwraps inline messages.
func (f *field) inner() *field {
	for range maxDepth {
		if !f.single() || f.kind != kindMessage || f.sub.shape != shapeInline || len(f.sub.fields) != 1 {
			break
		}
		f = f.sub.fields[0]
	}
	return f
}

// takesNull reports whether null is a value of the field rather than "no value".
func (f *field) takesNull() bool {
	f = f.inner()
	if !f.single() {
		return false
	}
	switch {
	case f.kind == kindJSON:
		return true
	case f.kind == kindMessage && f.sub.shape == shapeTyped:
		for _, v := range f.sub.fields {
			if in := v.inner(); in.single() && in.kind == kindJSON {
				return true
			}
		}
	}
	return false
}
