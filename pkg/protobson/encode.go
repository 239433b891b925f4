package protobson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
)

// present reports whether a field of m is stored.
func (f *field) present(m protoreflect.Message) bool {
	if f.presence {
		if !m.Has(f.fd) {
			return false
		}
		// Empty bytes are not JSON; but a union must keep which member is set.
		return !f.item.isText() || f.union != nil || len(m.Get(f.fd).Bytes()) > 0
	}
	if f.container != single {
		return m.Has(f.fd)
	}
	switch f.item.kind {
	case restjson.KindUUID:
		return m.Get(f.fd).String() != ""
	case restjson.KindJSON, restjson.KindObject:
		return len(m.Get(f.fd).Bytes()) > 0
	case restjson.KindEnum:
		n := m.Get(f.fd).Enum()
		if n != 0 {
			return true
		}
		_, name := restjson.EnumWord(f.item.enum, n)
		return name
	}
	return true
}

// appendFields appends the elements of m: the field id as _id first, at the top of a collection's document (nil elsewhere),
// then the others in their order.
func (p *plan) appendFields(dst []byte, m protoreflect.Message, id *field, depth int) ([]byte, error) {
	var err error
	if id != nil {
		if dst, err = id.appendElement(dst, "_id", m, depth); err != nil {
			return nil, err
		}
	}
	for _, f := range p.fields {
		if f == id || !f.present(m) {
			continue
		}
		if dst, err = f.appendElement(dst, f.key, m, depth); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// appendElement appends a field of m under a key.
func (f *field) appendElement(dst []byte, key string, m protoreflect.Message, depth int) ([]byte, error) {
	value := m.Get(f.fd)
	dst, err := f.appendValue(bsoncore.AppendHeader(dst, f.typeOf(value), key), value, depth)
	if err != nil {
		return nil, at(f.key, err)
	}
	return dst, nil
}

// appendValue writes the value of a field, whatever its container.
func (f *field) appendValue(dst []byte, v protoreflect.Value, depth int) ([]byte, error) {
	switch f.container {
	case list:
		return f.appendList(dst, v.List(), depth)
	case pairs, mapping:
		return f.appendMap(dst, v.Map(), depth)
	}
	return f.item.append(dst, v, depth)
}

func (f *field) appendList(dst []byte, l protoreflect.List, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return nil, ErrDepth
	}
	start, dst := bsoncore.AppendArrayStart(dst)
	var err error
	for i := range l.Len() {
		dst = appendIndex(dst, f.item.typeOf(l.Get(i)), i)
		if dst, err = f.item.append(dst, l.Get(i), depth+1); err != nil {
			return nil, atIndex(i, err)
		}
	}
	return bsoncore.AppendArrayEnd(dst, start)
}

// appendMap appends a map in the order of its keys, so equal messages have equal documents.
func (f *field) appendMap(dst []byte, m protoreflect.Map, depth int) ([]byte, error) {
	if depth+1 >= maxDepth {
		return nil, ErrDepth
	}
	keys := make([]protoreflect.MapKey, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	// Keys of other types are ordered by their text, as the store orders them.
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) })
	start, dst := bsoncore.AppendDocumentStart(dst)
	for i, k := range keys {
		var err error
		if f.container == pairs {
			dst = appendIndex(dst, bsoncore.TypeEmbeddedDocument, i)
			dst, err = f.appendPair(dst, k, m.Get(k), depth+1)
		} else if err = checkKey(k.String()); err == nil {
			dst = bsoncore.AppendHeader(dst, f.item.typeOf(m.Get(k)), k.String())
			dst, err = f.item.append(dst, m.Get(k), depth+1)
		}
		if err != nil {
			return nil, at(k.String(), err)
		}
	}
	return bsoncore.AppendDocumentEnd(dst, start)
}

func (f *field) appendPair(dst []byte, k protoreflect.MapKey, v protoreflect.Value, depth int) ([]byte, error) {
	start, dst := bsoncore.AppendDocumentStart(dst)
	dst = bsoncore.AppendHeader(dst, scalarTypes[f.mapKey.kind], "k")
	dst, err := f.mapKey.append(dst, k.Value(), depth)
	if err != nil {
		return nil, err
	}
	dst = bsoncore.AppendHeader(dst, f.item.typeOf(v), "v")
	if dst, err = f.item.append(dst, v, depth+1); err != nil {
		return nil, err
	}
	return bsoncore.AppendDocumentEnd(dst, start)
}

// checkKey rejects keys that BSON cannot hold, or that the server could read as paths or operators.
func checkKey(k string) error {
	switch {
	case k == "":
		return fmt.Errorf("%w: empty key", ErrValue)
	case strings.HasPrefix(k, "$"):
		return fmt.Errorf("%w: key %q starts with $", ErrValue, k)
	case strings.ContainsAny(k, ".\x00"):
		return fmt.Errorf("%w: key %q contains a dot or a NUL", ErrValue, k)
	}
	return checkText(k)
}

// appendMessage writes a message in its form.
func (c *codec) appendMessage(dst []byte, m protoreflect.Message, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return nil, ErrDepth
	}
	p := c.use()
	if p.form == formInline && !c.boxed {
		if p.fields[0].unset(m) {
			return dst, nil // Null has no bytes.
		}
		return p.fields[0].appendValue(dst, m.Get(p.fields[0].fd), depth)
	}
	start, dst := bsoncore.AppendDocumentStart(dst)
	var err error
	switch {
	case c.boxed:
		dst = bsoncore.AppendHeader(dst, p.fields[0].bsonType(), p.fields[0].key)
		if dst, err = p.fields[0].appendValue(dst, m.Get(p.fields[0].fd), depth+1); err != nil {
			err = at(p.fields[0].key, err)
		}
	case p.form == formTuple:
		dst, err = p.appendTuple(dst, m, depth+1)
	default:
		dst, err = p.appendFields(dst, m, nil, depth+1)
	}
	if err != nil {
		return nil, err
	}
	return bsoncore.AppendDocumentEnd(dst, start)
}

func (p *plan) appendTuple(dst []byte, m protoreflect.Message, depth int) ([]byte, error) {
	var err error
	for i, f := range p.fields {
		if f.container == single && !f.present(m) {
			dst = appendIndex(dst, bsoncore.TypeNull, i)
			continue
		}
		value := m.Get(f.fd)
		dst = appendIndex(dst, f.typeOf(value), i)
		if dst, err = f.appendValue(dst, value, depth); err != nil {
			return nil, atIndex(i, err)
		}
	}
	return dst, nil
}

// appendIndex writes the header of an array's element.
func appendIndex(dst []byte, t bsoncore.Type, i int) []byte {
	dst = append(dst, byte(t))
	dst = strconv.AppendInt(dst, int64(i), 10)
	return append(dst, 0)
}
