package restjson

import (
	"regexp"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/jsontoken"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// field holds what encoder and decoder need to know about a field.
type field struct {
	desc     protoreflect.FieldDescriptor
	value    protoreflect.FieldDescriptor // of a map: its value; else desc
	name     string                       // the JSON key
	key      []byte                       // `"name":`
	kind     Kind
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
	switch f.kind = KindOf(f.value, f.opts); f.kind {
	case KindBinary: // REST has JSON alone.
		f.kind = KindJSON
	case KindEnum:
		f.words = wordsOf(f.value.Enum())
	case KindMessage:
		f.sub = b.message(f.value.Message())
	}
	return f
}

// finish parses the default once, so building the plan finds an invalid one.
func (f *field) finish(p *plan) {
	text := f.opts.GetDefault()
	if text == "" || f.list || f.isMap || f.kind == KindMessage {
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
		if !f.single() || f.kind != KindMessage || f.sub.shape != shapeInline || len(f.sub.fields) != 1 {
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
	case f.kind == KindJSON:
		return true
	case f.kind == KindMessage && f.sub.shape == shapeTyped:
		for _, v := range f.sub.fields {
			if in := v.inner(); in.single() && in.kind == KindJSON {
				return true
			}
		}
	}
	return false
}
