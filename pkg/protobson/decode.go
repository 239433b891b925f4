package protobson

import (
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
)

// elements iterates over a document or an array. Keys alias the data.
type elements struct {
	rest []byte
	key  []byte
	val  bsoncore.Value
}

// open reads the header of a document.
func open(data []byte) (elements, error) {
	length, _, ok := bsoncore.ReadLength(data)
	if !ok || length < 5 || int(length) > len(data) || data[length-1] != 0 {
		return elements{}, ErrCorrupt
	}
	return elements{rest: data[4:length]}, nil
}

// next moves to the next element. It returns false at the end.
func (e *elements) next() (bool, error) {
	if len(e.rest) == 0 {
		return false, ErrCorrupt
	}
	t := bsoncore.Type(e.rest[0])
	if t == 0 {
		if len(e.rest) != 1 {
			return false, ErrCorrupt
		}
		return false, nil
	}
	key, rest, ok := bsoncore.ReadKeyBytes(e.rest[1:])
	if !ok {
		return false, ErrCorrupt
	}
	val, rest, ok := bsoncore.ReadValue(rest, t)
	if !ok {
		return false, fmt.Errorf("%s: %w", key, ErrCorrupt)
	}
	e.key, e.val, e.rest = key, val, rest
	return true, nil
}

// readFields fills m from the document data. In a collection the field id has the name _id, and the name id is unknown like any
// other.
func (p *plan) readFields(data []byte, m protoreflect.Message, inCollection bool, depth int) error {
	e, err := open(data)
	if err != nil {
		return err
	}
	for {
		more, err := e.next()
		if err != nil || !more {
			return err
		}
		f := p.byKey[string(e.key)]
		if inCollection && p.id != nil {
			if string(e.key) == "_id" {
				f = p.id
			} else if f == p.id {
				f = nil
			}
		}
		if f == nil {
			continue
		}
		if f.union != nil {
			if other := m.WhichOneof(f.union); other != nil && other != f.fd {
				return at(f.key, fmt.Errorf("%w: %s is set too", ErrType, other.Name()))
			}
		}
		if err := f.readInto(m, e.val, depth); err != nil {
			return at(f.key, err)
		}
	}
}

// readInto sets the field of m to a stored value.
func (f *field) readInto(m protoreflect.Message, v bsoncore.Value, depth int) error {
	var value protoreflect.Value
	var err error
	switch f.container {
	case list:
		value = m.NewField(f.fd)
		err = f.readList(v, value.List(), depth)
	case pairs:
		value = m.NewField(f.fd)
		err = f.readPairs(v, value.Map(), depth)
	case mapping:
		value = m.NewField(f.fd)
		err = f.readMapping(v, value.Map(), depth)
	default:
		var empty protoreflect.Value
		if f.item.isMessage() {
			empty = m.NewField(f.fd)
		}
		value, err = f.item.read(v, empty, depth)
	}
	if err != nil {
		return err
	}
	m.Set(f.fd, value)
	return nil
}

func (f *field) readList(v bsoncore.Value, l protoreflect.List, depth int) error {
	e, err := openAs(v, bsoncore.TypeArray, depth)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := e.next()
		if err != nil || !more {
			return err
		}
		var empty protoreflect.Value
		if f.item.isMessage() {
			empty = l.NewElement()
		}
		item, err := f.item.read(e.val, empty, depth+1)
		if err != nil {
			return atIndex(i, err)
		}
		l.Append(item)
	}
}

func (f *field) readPairs(v bsoncore.Value, m protoreflect.Map, depth int) error {
	e, err := openAs(v, bsoncore.TypeArray, depth)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := e.next()
		if err != nil || !more {
			return err
		}
		if err := f.readPair(e.val, m, depth+1); err != nil {
			return atIndex(i, err)
		}
	}
}

func (f *field) readPair(v bsoncore.Value, m protoreflect.Map, depth int) error {
	e, err := openAs(v, bsoncore.TypeEmbeddedDocument, depth)
	if err != nil {
		return err
	}
	var key, value protoreflect.Value
	for {
		more, err := e.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		switch string(e.key) {
		case "k":
			if key, err = f.mapKey.read(e.val, protoreflect.Value{}, depth+1); err != nil {
				return at("k", err)
			}
		case "v":
			if value, err = f.item.read(e.val, m.NewValue(), depth+1); err != nil {
				return at("v", err)
			}
		}
	}
	if !key.IsValid() || !value.IsValid() {
		return fmt.Errorf("%w: a pair needs k and v", ErrType)
	}
	m.Set(key.MapKey(), value)
	return nil
}

func (f *field) readMapping(v bsoncore.Value, m protoreflect.Map, depth int) error {
	e, err := openAs(v, bsoncore.TypeEmbeddedDocument, depth)
	if err != nil {
		return err
	}
	for {
		more, err := e.next()
		if err != nil || !more {
			return err
		}
		key, err := f.mapKey.keyOf(string(e.key))
		if err != nil {
			return at(string(e.key), err)
		}
		value, err := f.item.read(e.val, m.NewValue(), depth+1)
		if err != nil {
			return at(string(e.key), err)
		}
		m.Set(key, value)
	}
}

// keyOf parses the key of a map from its text in a document.
func (c *codec) keyOf(s string) (protoreflect.MapKey, error) {
	switch c.kind {
	case restjson.KindString:
		v, err := c.stringValue(s)
		if err != nil {
			return protoreflect.MapKey{}, err
		}
		return v.MapKey(), nil
	case restjson.KindBool:
		if s == "true" || s == "false" {
			return protoreflect.ValueOfBool(s == "true").MapKey(), nil
		}
	default:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			v, err := c.integerValue(n)
			if err != nil {
				return protoreflect.MapKey{}, err
			}
			return v.MapKey(), nil
		}
	}
	return protoreflect.MapKey{}, fmt.Errorf("%w: %q is not a key of the map", ErrType, s)
}

// readMessage fills m from its stored form.
func (c *codec) readMessage(v bsoncore.Value, m protoreflect.Message, depth int) error {
	p := c.use()
	switch {
	case c.boxed || p.form == formDocument:
		if v.Type != bsoncore.TypeEmbeddedDocument {
			return c.mismatch(v)
		}
		if depth >= maxDepth {
			return ErrDepth
		}
		return p.readFields(v.Data, m, false, depth+1)
	case p.form == formTuple:
		return p.readTuple(v, m, depth)
	}
	if depth >= maxDepth {
		return ErrDepth
	}
	if v.Type == bsoncore.TypeNull && p.fields[0].presence {
		return nil
	}
	return p.fields[0].readInto(m, v, depth+1)
}

func (p *plan) readTuple(v bsoncore.Value, m protoreflect.Message, depth int) error {
	e, err := openAs(v, bsoncore.TypeArray, depth)
	if err != nil {
		return err
	}
	for i, f := range p.fields {
		more, err := e.next()
		if err != nil || !more {
			return err
		}
		if e.val.Type == bsoncore.TypeNull {
			continue
		}
		if err := f.readInto(m, e.val, depth+1); err != nil {
			return atIndex(i, err)
		}
	}
	return nil
}

// openAs opens a value that must be a document or an array.
func openAs(v bsoncore.Value, t bsoncore.Type, depth int) (elements, error) {
	if v.Type != t {
		return elements{}, fmt.Errorf("%w: %s instead of %s", ErrType, v.Type, t)
	}
	if depth >= maxDepth {
		return elements{}, ErrDepth
	}
	return open(v.Data)
}
