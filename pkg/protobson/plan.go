package protobson

import (
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxDepth is the maximum nesting of documents and arrays, the limit of MongoDB.
const maxDepth = 100

// scalarTypes are the BSON types of the kinds, except restjson.KindMessage's, which its plan knows.
var scalarTypes = [...]bsoncore.Type{
	restjson.KindBool: bsoncore.TypeBoolean, restjson.KindInt32: bsoncore.TypeInt64, restjson.KindInt64: bsoncore.TypeInt64,
	restjson.KindUint32: bsoncore.TypeInt64, restjson.KindUint64: bsoncore.TypeInt64, restjson.KindFloat: bsoncore.TypeDouble,
	restjson.KindDouble: bsoncore.TypeDouble, restjson.KindString: bsoncore.TypeString, restjson.KindUUID: bsoncore.TypeBinary,
	restjson.KindJSON: bsoncore.TypeString, restjson.KindObject: bsoncore.TypeString, restjson.KindBinary: bsoncore.TypeBinary, restjson.KindEnum: bsoncore.TypeString,
	restjson.KindTimestamp: bsoncore.TypeInt64, restjson.KindDuration: bsoncore.TypeInt64,
}

// form is the way in which a message is stored.
type form uint8

const (
	formDocument form = iota
	formInline
	formTuple
)

// container is the way in which a field holds its items.
type container uint8

const (
	single container = iota
	list
	pairs   // a map as an array of {k, v}
	mapping // a map as a document
)

// plan holds what encoding and decoding need to know about a message. It is computed once.
type plan struct {
	md     protoreflect.MessageDescriptor
	form   form
	fields []*field // In number order, without computed ones.
	byKey  map[string]*field
	id     *field // The field that is _id in a collection, or nil.
	// reserved is the name of a field that belongs to the envelope; empty if there is none.
	reserved string
	ready    sync.Once
}

// field is one field of a plan.
type field struct {
	fd        protoreflect.FieldDescriptor
	key       string
	container container
	index     int // In the plan's list of fields.
	presence  bool
	union     protoreflect.OneofDescriptor // The oneof that it is a member of, or nil.
	item      codec
	mapKey    codec
}

// codec is the stored form of one value of a field.
type codec struct {
	kind restjson.Kind
	enum protoreflect.EnumDescriptor
	msg  *plan // Of restjson.KindMessage.
	// boxed: an inline message stored as {name: value}, because its value is an array inside an array.
	boxed bool
	// plain: the protobuf varint is the value itself, neither zigzag nor fixed-length.
	plain bool
}

// Envelope lists the top-level names that a store adds around a message. No stored message may use them.
var Envelope = []string{"_id", "ws", "rev", "tok", "outbox", "expire_at", "deleted_at"}

// plans grows to the number of message types in the program.
var plans sync.Map // protoreflect.MessageDescriptor → *plan

func planOf(md protoreflect.MessageDescriptor) *plan {
	p := lazyPlan(md)
	p.ready.Do(p.fill)
	return p
}

// lazyPlan returns a plan that may not be filled yet, because messages may contain themselves.
func lazyPlan(md protoreflect.MessageDescriptor) *plan {
	v, ok := plans.Load(md)
	if !ok {
		v, _ = plans.LoadOrStore(md, &plan{md: md})
	}
	return v.(*plan)
}

func (p *plan) fill() {
	shape := restjson.Shape(p.md)
	fds := p.md.Fields()
	switch {
	case shape.GetTuple():
		p.form = formTuple
	case shape.GetInline() && fds.Len() == 1:
		p.form = formInline
	}
	p.byKey = make(map[string]*field, fds.Len())
	for i := range fds.Len() {
		fd := fds.Get(i)
		if restjson.Computed(fd) {
			continue
		}
		f := &field{fd: fd, key: string(fd.Name()), presence: fd.HasPresence()}
		if od := fd.ContainingOneof(); od != nil && !od.IsSynthetic() {
			f.union = od
		}
		opts := restjson.Options(fd)
		switch {
		case fd.IsMap():
			f.container = mapping
			if opts.GetPairs() {
				f.container = pairs
			}
			f.mapKey = codecOf(fd.MapKey(), nil)
			f.item = codecOf(fd.MapValue(), opts)
		case fd.IsList():
			f.container = list
			f.item = codecOf(fd, opts)
			f.item.boxed = f.item.kind == restjson.KindMessage && inlineArray(fd.Message())
		default:
			f.item = codecOf(fd, opts)
		}
		p.fields = append(p.fields, f)
		p.byKey[f.key] = f
		if f.key == "id" && f.container == single {
			p.id = f
		}
		if p.reserved == "" && slices.Contains(Envelope, f.key) {
			p.reserved = f.key
		}
	}
	slices.SortFunc(p.fields, func(a, b *field) int { return int(a.fd.Number()) - int(b.fd.Number()) })
	for i, f := range p.fields {
		f.index = i
	}
}

func codecOf(fd protoreflect.FieldDescriptor, options *orchv1.RestField) codec {
	c := codec{kind: restjson.KindOf(fd, options), enum: fd.Enum()}
	switch fd.Kind() {
	case protoreflect.BoolKind, protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		c.plain = true
	}
	if c.kind == restjson.KindMessage {
		c.msg = lazyPlan(fd.Message())
	}
	return c
}

// inlineArray reports whether a message is inline and its value an array.
func inlineArray(md protoreflect.MessageDescriptor) bool {
	if !restjson.Shape(md).GetInline() || md.Fields().Len() != 1 {
		return false
	}
	fd := md.Fields().Get(0)
	switch {
	case fd.IsMap():
		return restjson.Options(fd).GetPairs()
	case fd.IsList():
		return true
	case fd.Message() != nil:
		return inlineArray(fd.Message())
	}
	return false
}

// use returns the complete plan of a message codec.
func (c *codec) use() *plan {
	c.msg.ready.Do(c.msg.fill)
	return c.msg
}

// bsonType is the BSON type of one value.
func (c *codec) bsonType() bsoncore.Type {
	if c.kind != restjson.KindMessage {
		return scalarTypes[c.kind]
	}
	p := c.use()
	switch {
	case c.boxed:
		return bsoncore.TypeEmbeddedDocument
	case p.form == formTuple:
		return bsoncore.TypeArray
	case p.form == formInline:
		return p.fields[0].bsonType()
	}
	return bsoncore.TypeEmbeddedDocument
}

// bsonType is the BSON type of the field's value.
func (f *field) bsonType() bsoncore.Type {
	switch f.container {
	case list, pairs:
		return bsoncore.TypeArray
	case mapping:
		return bsoncore.TypeEmbeddedDocument
	}
	return f.item.bsonType()
}

// typeOf is the bsonType of the value v of the field: null for an inline message whose field is unset.
func (f *field) typeOf(v protoreflect.Value) bsoncore.Type {
	if f.container != single {
		return f.bsonType()
	}
	return f.item.typeOf(v)
}

// typeOf is the bsonType of a value v, as in field.typeOf.
func (c *codec) typeOf(v protoreflect.Value) bsoncore.Type {
	if c.kind == restjson.KindMessage && !c.boxed {
		if p := c.use(); p.form == formInline {
			inner := p.fields[0]
			if inner.unset(v.Message()) {
				return bsoncore.TypeNull
			}
			return inner.typeOf(v.Message().Get(inner.fd))
		}
	}
	return c.bsonType()
}

// unset reports whether a field that can be unset has no value.
func (f *field) unset(m protoreflect.Message) bool { return f.presence && !m.Has(f.fd) }
