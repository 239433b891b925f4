package protobson

import (
	"fmt"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxDepth is the maximum nesting of documents and arrays, the limit of MongoDB.
const maxDepth = 100

// kind is the stored form of one value.
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
	kindText   // bytes that hold JSON, stored as a string
	kindBinary // other bytes
	kindEnum
	kindTimestamp // This kind and those after it are proto messages.
	kindDuration
	kindMessage
)

// scalarTypes are the BSON types of the kinds, except kindMessage's, which its plan knows.
var scalarTypes = [...]bsoncore.Type{
	kindBool: bsoncore.TypeBoolean, kindInt32: bsoncore.TypeInt64, kindInt64: bsoncore.TypeInt64,
	kindUint32: bsoncore.TypeInt64, kindUint64: bsoncore.TypeInt64, kindFloat: bsoncore.TypeDouble,
	kindDouble: bsoncore.TypeDouble, kindString: bsoncore.TypeString, kindUUID: bsoncore.TypeBinary,
	kindText: bsoncore.TypeString, kindBinary: bsoncore.TypeBinary, kindEnum: bsoncore.TypeString,
	kindTimestamp: bsoncore.TypeInt64, kindDuration: bsoncore.TypeInt64,
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
	kind kind
	enum protoreflect.EnumDescriptor
	msg  *plan // Of kindMessage.
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
	v, ok := plans.Load(md)
	if !ok {
		v, _ = plans.LoadOrStore(md, &plan{md: md})
	}
	p := v.(*plan)
	// The fields are filled on first use, not on creation, because messages may contain themselves.
	p.ready.Do(p.fill)
	return p
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
			f.item.boxed = f.item.kind == kindMessage && inlineArray(fd.Message())
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

func codecOf(fd protoreflect.FieldDescriptor, opts *orchv1.RestField) codec {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return codec{kind: kindBool, plain: true}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return codec{kind: kindInt32, plain: fd.Kind() == protoreflect.Int32Kind}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return codec{kind: kindInt64, plain: fd.Kind() == protoreflect.Int64Kind}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return codec{kind: kindUint32, plain: fd.Kind() == protoreflect.Uint32Kind}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return codec{kind: kindUint64, plain: fd.Kind() == protoreflect.Uint64Kind}
	case protoreflect.FloatKind:
		return codec{kind: kindFloat}
	case protoreflect.DoubleKind:
		return codec{kind: kindDouble}
	case protoreflect.StringKind:
		if opts.GetFormat() == orchv1.Format_FORMAT_UUID {
			return codec{kind: kindUUID}
		}
		return codec{kind: kindString}
	case protoreflect.BytesKind:
		switch opts.GetFormat() {
		case orchv1.Format_FORMAT_JSON, orchv1.Format_FORMAT_JSON_OBJECT:
			return codec{kind: kindText}
		}
		// A map with (rest).extra collects the keys that a message does not name; its values are JSON.
		if opts.GetExtra() {
			return codec{kind: kindText}
		}
		return codec{kind: kindBinary}
	case protoreflect.EnumKind:
		return codec{kind: kindEnum, enum: fd.Enum()}
	case protoreflect.MessageKind, protoreflect.GroupKind:
		switch fd.Message().FullName() {
		case "google.protobuf.Timestamp":
			return codec{kind: kindTimestamp}
		case "google.protobuf.Duration":
			return codec{kind: kindDuration}
		}
		v, ok := plans.Load(fd.Message())
		if !ok {
			v, _ = plans.LoadOrStore(fd.Message(), &plan{md: fd.Message()})
		}
		return codec{kind: kindMessage, msg: v.(*plan)}
	}
	panic(fmt.Sprintf("protobson: field %s has a kind unknown to proto3: %v", fd.FullName(), fd.Kind()))
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
	if c.kind != kindMessage {
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
	if c.kind == kindMessage && !c.boxed {
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
