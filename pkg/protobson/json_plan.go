package protobson

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/restjson"
)

// jsonShape is the REST form of a message.
type jsonShape uint8

const (
	jsonObject jsonShape = iota
	jsonInline
	jsonUnion
)

// jsonPlan joins the stored form and the REST form of a message. It is computed once.
type jsonPlan struct {
	md    protoreflect.MessageDescriptor
	shape jsonShape
	// fields are those in REST, in the order of REST, and for a union its members. stored are those in documents, by slot: in
	// their usual order.
	fields, stored []*jsonField
	byKey          map[string]*jsonField
	id             *jsonField // The field that is _id in a collection, or nil.
	slots          int        // Number of stored fields.
	open           string     // The text before the first label.
	empty          string     // JSON of the empty message; "" if it has none.
	err            error      // Why only reflection can encode the message.
	ready          sync.Once
}

// jsonField is one field of a jsonPlan.
type jsonField struct {
	name, label string // The label is the key of the object with what precedes it.
	number      protoreflect.FieldNumber
	stored      *field // nil for a computed field.
	slot        int
	sub         *jsonPlan // Of messages.
	words       map[string]string
	absent      string // JSON of the absent field; "" if it has none.
	inner       bool   // In REST.
}

// jsonPlans grows to the number of message types in the program.
var jsonPlans sync.Map // protoreflect.MessageDescriptor → *jsonPlan

func jsonPlanOf(md protoreflect.MessageDescriptor) *jsonPlan {
	p := lazyJSONPlan(md)
	p.ready.Do(p.fill)
	return p
}

// lazyJSONPlan returns a plan that may not be filled yet, because messages may contain themselves.
func lazyJSONPlan(md protoreflect.MessageDescriptor) *jsonPlan {
	v, ok := jsonPlans.Load(md)
	if !ok {
		v, _ = jsonPlans.LoadOrStore(md, &jsonPlan{md: md})
	}
	return v.(*jsonPlan)
}

func (p *jsonPlan) fill() {
	from := planOf(p.md)
	shape := restjson.Shape(p.md)
	union := restjson.Union(p.md) != nil
	switch {
	case from.form == formTuple || from.form == formInline != shape.GetInline() || p.md.ParentFile().Package() == "google.protobuf":
		p.err = p.unsupported("its shape")
		return
	case union:
		p.shape = jsonUnion
	case from.form == formInline:
		p.shape = jsonInline
	}
	byNumber := map[protoreflect.FieldNumber]*jsonField{}
	p.byKey = make(map[string]*jsonField, len(from.fields))
	for _, f := range from.fields {
		one := p.field(f.fd)
		one.stored, one.slot = f, f.index
		byNumber[one.number], p.byKey[f.key] = one, one
		p.stored = append(p.stored, one)
	}
	p.slots = len(p.stored)
	if from.id != nil {
		p.id = p.byKey[from.id.key]
	}
	p.open = "{"
	if key := shape.GetTagKey(); key != "" {
		p.open += quoted(key) + ":" + quoted(shape.GetTag())
	}
	for i := range p.md.Fields().Len() {
		fd := p.md.Fields().Get(i)
		if restjson.Internal(fd) {
			continue
		}
		f := byNumber[fd.Number()]
		if f == nil {
			f = p.field(fd)
		}
		f.inner = true
		f.label = quoted(f.name) + ":"
		if len(p.open) > 1 || len(p.fields) > 0 {
			f.label = "," + f.label
		}
		if restjson.Options(fd).GetExtra() {
			p.err = p.unsupported("field " + f.name)
		}
		p.fields = append(p.fields, f)
	}
	p.empty = p.emptyJSON()
}

func quoted(s string) string { return string(jsontoken.AppendString(nil, s)) }

func (p *jsonPlan) unsupported(what string) error {
	return fmt.Errorf("protobson: %s: %w: %s is left to the message", p.md.Name(), ErrMessage, what)
}

// emptyJSON is the JSON of the message without values; "" if REST cannot represent it.
func (p *jsonPlan) emptyJSON() string {
	mt, err := protoregistry.GlobalTypes.FindMessageByName(p.md.FullName())
	if err != nil {
		return ""
	}
	text, err := restjson.Marshal(mt.New().Interface())
	if err != nil {
		return ""
	}
	return string(text)
}

func (p *jsonPlan) field(fd protoreflect.FieldDescriptor) *jsonField {
	f := &jsonField{name: restjson.Name(fd), number: fd.Number()}
	item := fd
	if fd.IsMap() {
		item = fd.MapValue()
	}
	if item.Message() != nil && item.Message().ParentFile().Package() != "google.protobuf" {
		f.sub = lazyJSONPlan(item.Message())
	}
	if item.Enum() != nil {
		f.words = map[string]string{}
		for i := range item.Enum().Values().Len() {
			if name, ok := restjson.EnumWord(item.Enum(), item.Enum().Values().Get(i).Number()); ok {
				f.words[name] = quoted(name)
			}
		}
	}
	f.absent = absentJSON(fd, f)
	return f
}

// find returns the field of a stored key. expected is the position of the field that usually comes next.
func (p *jsonPlan) find(key []byte, expected *int, inCollection bool) *jsonField {
	if i := *expected; i < len(p.stored) {
		if f := p.stored[i]; string(key) == f.stored.key && (!inCollection || f != p.id) {
			*expected = i + 1
			return f
		}
	}
	f := p.byKey[string(key)]
	if inCollection && p.id != nil {
		if string(key) == "_id" {
			f = p.id
		} else if f == p.id {
			f = nil
		}
	}
	if f != nil {
		*expected = f.slot + 1 // The fields between are absent.
	}
	return f
}

// check reports whether the plans of a message and of all messages inside it can be encoded.
func (p *jsonPlan) check(outermost bool, seen map[*jsonPlan]bool) error {
	if seen[p] {
		return nil
	}
	seen[p] = true
	p.ready.Do(p.fill)
	if p.err != nil {
		return p.err
	}
	for _, f := range p.fields {
		if f.stored == nil {
			if !outermost { // Only the outermost message may have computed fields.
				return p.unsupported("field " + f.name)
			}
			continue
		}
		if f.stored.container == mapping && f.stored.mapKey.kind != restjson.KindString || f.stored.item.boxed ||
			f.stored.item.kind == restjson.KindBinary || f.stored.item.kind == restjson.KindMessage && f.sub == nil {
			return p.unsupported("field " + f.name)
		}
		if f.sub != nil {
			if err := f.sub.check(false, seen); err != nil {
				return err
			}
		}
	}
	return nil
}
