package protobson

import (
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// JSONEncoder writes stored documents as REST JSON without a message in between. It writes the same bytes as decoding a
// document and encoding the message. Unusual data (another type, a duplicate field, a value that REST cannot represent)
// is left to that way: it decides what is an error.
type JSONEncoder struct {
	plan     *jsonPlan
	computed map[protoreflect.FieldNumber]int
	derive   Derive
}

// Derive writes the JSON of computed fields, which are not stored: out has an empty slice for each of their names, and Derive
// appends to it. False leaves the document to the message.
type Derive func(doc Stored, now time.Time, out [][]byte) bool

// Stored gives access to the top-level fields of a document.
type Stored struct {
	plan   *jsonPlan
	values []bsoncore.Value
}

// Get returns the stored value of a field by its name, the zero value if it is absent.
func (s Stored) Get(name string) bsoncore.Value {
	if f := s.plan.byKey[name]; f != nil {
		return s.values[f.slot]
	}
	return bsoncore.Value{}
}

// NewJSONEncoder returns the encoder of a message's documents. derive computes the fields with those names; both are empty
// for a message whose REST form is stored. It returns ErrMessage for a message that only reflection can encode.
func NewJSONEncoder(m proto.Message, derive Derive, names ...protoreflect.Name) (*JSONEncoder, error) {
	md := m.ProtoReflect().Descriptor()
	e := &JSONEncoder{derive: derive, computed: map[protoreflect.FieldNumber]int{}}
	for i, name := range names {
		fd := md.Fields().ByName(name)
		if fd == nil {
			return nil, fmt.Errorf("protobson: %s: %w: no field %s", md.Name(), ErrMessage, name)
		}
		e.computed[fd.Number()] = i
	}
	e.plan = jsonPlanOf(md)
	if err := e.plan.check(true, map[*jsonPlan]bool{}); err != nil {
		return nil, err
	}
	if e.plan.shape != jsonObject {
		return nil, e.plan.unsupported("its shape")
	}
	for _, f := range e.plan.fields {
		if _, ok := e.computed[f.number]; !ok && f.stored == nil {
			return nil, fmt.Errorf("protobson: %s: %w: field %s is not stored", md.Name(), ErrMessage, f.name)
		}
	}
	return e, nil
}

// AppendDocument appends a document of a collection as REST JSON. False means that the message has to decide; dst then has
// its old length.
func (e *JSONEncoder) AppendDocument(dst []byte, doc bson.Raw, now time.Time) (_ []byte, ok bool) {
	w := jsonWriters.Get().(*jsonWriter)
	defer w.release()
	at := len(dst)
	values, ok := w.locate(e.plan, doc, true)
	if !ok {
		return dst, false
	}
	for len(w.derived) < len(e.computed) {
		w.derived = append(w.derived, nil)
	}
	derived := w.derived[:len(e.computed)]
	for i := range derived {
		derived[i] = derived[i][:0]
	}
	if e.derive != nil && !e.derive(Stored{e.plan, values}, now, derived) {
		return dst, false
	}
	dst = append(dst, e.plan.open...)
	for _, f := range e.plan.fields {
		dst = append(dst, f.label...)
		if i, computed := e.computed[f.number]; computed && f.stored == nil {
			dst = append(dst, derived[i]...)
			continue
		}
		if dst, ok = w.field(dst, f, values[f.slot], 1); !ok {
			return dst[:at], false
		}
	}
	return append(dst, '}'), true
}

// jsonWriter is the scratch memory of one document.
type jsonWriter struct {
	slots   []bsoncore.Value // Of all open documents, the outermost first.
	derived [][]byte
}

var jsonWriters = sync.Pool{New: func() any { return &jsonWriter{slots: make([]bsoncore.Value, 0, 128)} }}

// release returns the writer to the pool without references to the document.
func (w *jsonWriter) release() {
	clear(w.slots[:cap(w.slots)])
	w.slots = w.slots[:0]
	jsonWriters.Put(w)
}

// locate finds the values of the fields of a document, by slot. Unknown fields are skipped.
func (w *jsonWriter) locate(p *jsonPlan, data []byte, inCollection bool) (values []bsoncore.Value, ok bool) {
	base := len(w.slots)
	for range p.slots {
		w.slots = append(w.slots, bsoncore.Value{})
	}
	values = w.slots[base : base+p.slots : base+p.slots]
	e, err := open(data)
	if err != nil {
		return nil, false
	}
	expected := 0 // Documents have their fields in number order until updates add some.
	for {
		more, err := e.next()
		if err != nil || !more {
			return values, err == nil
		}
		f := p.find(e.key, &expected, inCollection)
		if f == nil {
			continue
		}
		if values[f.slot].Type != 0 {
			return nil, false
		}
		values[f.slot] = e.val
	}
}
