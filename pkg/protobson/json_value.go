package protobson

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/restjson"
)

// maxJSONDepth bounds messages that contain themselves; deeper ones are left to reflection.
const maxJSONDepth = 50

// absentJSON is the JSON of an absent field; "" if it is never absent, or if the empty message decides.
func absentJSON(fd protoreflect.FieldDescriptor, f *jsonField) string {
	switch {
	case fd.IsMap():
		return "{}"
	case fd.IsList():
		return "[]"
	case fd.HasOptionalKeyword():
		return "null"
	case f.sub != nil:
		return "" // The empty form, see field.
	}
	switch codecOf(fd, restjson.Options(fd)).kind {
	case restjson.KindBool:
		return "false"
	case restjson.KindInt32, restjson.KindInt64, restjson.KindUint32, restjson.KindUint64:
		return "0"
	case restjson.KindFloat, restjson.KindDouble:
		return "0.0"
	case restjson.KindString:
		return `""`
	case restjson.KindJSON:
		return "null"
	case restjson.KindObject:
		return "{}"
	}
	return ""
}

// field appends the value of a field; the zero value is an absent one.
func (w *jsonWriter) field(dst []byte, f *jsonField, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	if v.Type == 0 {
		absent := f.absent
		if absent == "" && f.sub != nil && f.stored.container == single {
			absent = f.sub.empty
		}
		return append(dst, absent...), absent != ""
	}
	if depth > maxJSONDepth {
		return dst, false
	}
	switch f.stored.container {
	case list:
		return w.list(dst, f, v, depth+1)
	case pairs:
		return w.pairs(dst, f, v, depth+1)
	case mapping:
		return w.mapping(dst, f, v, depth+1)
	}
	return w.value(dst, f, v, depth)
}

// each calls visit with the elements of an array or document until it returns false. It reports whether all were visited.
func each(v bsoncore.Value, t bsoncore.Type, depth int, visit func(first bool, e *elements) bool) bool {
	e, err := openAs(v, t, depth)
	if err != nil {
		return false
	}
	for first := true; ; first = false {
		more, err := e.next()
		if err != nil || !more {
			return err == nil
		}
		if !visit(first, &e) {
			return false
		}
	}
}

func (w *jsonWriter) list(dst []byte, f *jsonField, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	dst = append(dst, '[')
	ok = each(v, bsoncore.TypeArray, depth, func(first bool, e *elements) (ok bool) {
		if !first {
			dst = append(dst, ',')
		}
		dst, ok = w.value(dst, f, e.val, depth)
		return ok
	})
	return append(dst, ']'), ok
}

// pairs appends a map that is stored as an array of {k, v}, ordered by k.
func (w *jsonWriter) pairs(dst []byte, f *jsonField, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	var last []byte
	dst = append(dst, '{')
	ok = each(v, bsoncore.TypeArray, depth, func(first bool, e *elements) bool {
		key, value, ok := pair(e.val, depth)
		if ok {
			dst, ok = w.entry(dst, f, key, last, first, value, depth)
			last = key
		}
		return ok
	})
	return append(dst, '}'), ok
}

// pair returns the key and the value of a document {k, v}.
func pair(v bsoncore.Value, depth int) (key []byte, value bsoncore.Value, ok bool) {
	n := 0
	ok = each(v, bsoncore.TypeEmbeddedDocument, depth, func(_ bool, e *elements) (ok bool) {
		switch n++; {
		case n == 1 && string(e.key) == "k":
			key, ok = text(e.val)
			return ok
		case n == 2 && string(e.key) == "v":
			value = e.val
			return true
		}
		return false
	})
	return key, value, ok && n == 2
}

// mapping appends a map that is stored as a document.
func (w *jsonWriter) mapping(dst []byte, f *jsonField, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	var last []byte
	dst = append(dst, '{')
	ok = each(v, bsoncore.TypeEmbeddedDocument, depth, func(first bool, e *elements) bool {
		ok := utf8.Valid(e.key)
		if ok {
			dst, ok = w.entry(dst, f, e.key, last, first, e.val, depth)
			last = e.key
		}
		return ok
	})
	return append(dst, '}'), ok
}

// entry appends an entry of a map. Keys ascend in REST; others are left to the message.
func (w *jsonWriter) entry(dst []byte, f *jsonField, key, last []byte, first bool, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	if !first {
		if bytes.Compare(last, key) >= 0 {
			return dst, false
		}
		dst = append(dst, ',')
	}
	dst = append(jsontoken.AppendText(dst, key), ':')
	return w.value(dst, f, v, depth)
}

// value appends one value of a field, of an item of its list or of a value of its map.
func (w *jsonWriter) value(dst []byte, f *jsonField, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	c := &f.stored.item
	switch c.kind {
	case restjson.KindBool:
		b, ok := v.BooleanOK()
		return strconv.AppendBool(dst, b), ok
	case restjson.KindInt32, restjson.KindInt64, restjson.KindUint32, restjson.KindUint64:
		n, ok := integer(v)
		if !ok {
			return dst, false
		}
		_, err := c.integerValue(n)
		return strconv.AppendInt(dst, n, 10), err == nil
	case restjson.KindDouble:
		d, ok := v.DoubleOK()
		return restjson.AppendFloat(dst, d), ok
	case restjson.KindString:
		s, ok := text(v)
		if !ok {
			return dst, false
		}
		return jsontoken.AppendText(dst, s), true
	case restjson.KindJSON, restjson.KindObject:
		s, ok := text(v)
		switch {
		case len(s) > 0:
			return append(dst, s...), ok
		case c.kind == restjson.KindObject:
			return append(dst, "{}"...), ok
		}
		return append(dst, "null"...), ok
	case restjson.KindEnum:
		s, ok := text(v)
		if !ok {
			return dst, false
		}
		name, ok := f.words[string(s)]
		return append(dst, name...), ok
	case restjson.KindUUID:
		if v.Type != bsoncore.TypeBinary || len(v.Data) != 21 || v.Data[4] != uuidSubtype {
			return dst, false
		}
		dst = appendUUID(append(dst, '"'), v.Data[5:])
		return append(dst, '"'), true
	case restjson.KindTimestamp, restjson.KindDuration:
		us, ok := integer(v)
		seconds, nanos, fits := c.split(us)
		if !ok || !fits {
			return dst, false
		}
		if c.kind == restjson.KindDuration {
			return restjson.AppendDuration(dst, seconds, nanos)
		}
		return restjson.AppendTimestamp(dst, seconds, nanos)
	case restjson.KindMessage:
		return w.message(dst, f.sub, v, depth)
	}
	return dst, false
}

// text returns the bytes of a string, if they are UTF-8.
func text(v bsoncore.Value) ([]byte, bool) {
	if v.Type != bsoncore.TypeString || len(v.Data) < 5 {
		return nil, false
	}
	n := int(binary.LittleEndian.Uint32(v.Data))
	if n < 1 || n != len(v.Data)-4 || v.Data[len(v.Data)-1] != 0 {
		return nil, false
	}
	s := v.Data[4 : len(v.Data)-1]
	return s, utf8.Valid(s)
}

func (w *jsonWriter) message(dst []byte, p *jsonPlan, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	if depth++; depth > maxJSONDepth {
		return dst, false
	}
	if p.shape == jsonInline {
		f := p.fields[0]
		if v.Type == bsoncore.TypeNull && f.stored.presence {
			return append(dst, "null"...), true
		}
		return w.field(dst, f, v, depth)
	}
	if v.Type != bsoncore.TypeEmbeddedDocument {
		return dst, false
	}
	if p.shape == jsonUnion {
		return w.union(dst, p, v, depth)
	}
	base := len(w.slots)
	values, ok := w.locate(p, v.Data, false)
	if !ok {
		return dst, false
	}
	dst = append(dst, p.open...)
	for _, f := range p.fields {
		dst = append(dst, f.label...)
		if dst, ok = w.field(dst, f, values[f.slot], depth); !ok {
			return dst, false
		}
	}
	w.slots = w.slots[:base]
	return append(dst, '}'), true
}

// union appends the one member of a union.
func (w *jsonWriter) union(dst []byte, p *jsonPlan, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	e, err := open(v.Data)
	if err != nil {
		return dst, false
	}
	if more, err := e.next(); err != nil || !more {
		return dst, false
	}
	f := p.byKey[string(e.key)]
	if f == nil || !f.inner {
		return dst, false
	}
	if dst, ok = w.field(dst, f, e.val, depth); !ok {
		return dst, false
	}
	more, err := e.next()
	return dst, err == nil && !more
}
