package value

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// MaxDepth is the deepest accepted nesting of documents and arrays in a command.
const MaxDepth = 180

// ErrMalformed reports bytes that are not a BSON document.
var ErrMalformed = errors.New("malformed BSON")

// Iter walks the elements of a document in their order.
type Iter struct{ b []byte }

// Iter starts a walk.
func (d Doc) Iter() Iter {
	if len(d) < 5 {
		return Iter{}
	}
	return Iter{b: d[4 : len(d)-1]}
}

// Next returns the next element; ok is false at the end.
func (it *Iter) Next() (key []byte, v Value, ok bool) {
	if len(it.b) < 2 {
		return nil, Value{}, false
	}
	t := Type(it.b[0])
	i := bytes.IndexByte(it.b[1:], 0)
	if i < 0 {
		return nil, Value{}, false
	}
	key, rest := it.b[1:1+i], it.b[2+i:]
	n := size(t, rest)
	if n < 0 {
		return nil, Value{}, false
	}
	it.b = rest[n:]
	return key, Value{T: t, B: rest[:n:n]}, true
}

// size returns the length of a value of the type at the start of b, or -1 when b does not hold one.
func size(t Type, b []byte) int {
	n := -1
	switch t {
	case bson.TypeNull, bson.TypeUndefined, bson.TypeMinKey, bson.TypeMaxKey:
		n = 0
	case bson.TypeBoolean:
		n = 1
	case bson.TypeInt32:
		n = 4
	case bson.TypeDouble, bson.TypeInt64, bson.TypeDateTime, bson.TypeTimestamp:
		n = 8
	case bson.TypeObjectID:
		n = 12
	case bson.TypeDecimal128:
		n = 16
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		n = prefixed(b, 4, 1)
	case bson.TypeBinary:
		n = prefixed(b, 5, 0)
	case bson.TypeEmbeddedDocument, bson.TypeArray, bson.TypeCodeWithScope:
		n = prefixed(b, 0, 5)
	case bson.TypeDBPointer:
		if n = prefixed(b, 4, 1); n >= 0 {
			n += 12
		}
	case bson.TypeRegex:
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			return -1
		}
		j := bytes.IndexByte(b[i+1:], 0)
		if j < 0 {
			return -1
		}
		n = i + j + 2
	}
	if n > len(b) {
		return -1
	}
	return n
}

// prefixed reads an int32 length of at least minimum and adds what the length does not count.
func prefixed(b []byte, extra, minimum int) int {
	if len(b) < 4 {
		return -1
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < minimum || n > len(b) {
		return -1
	}
	return n + extra
}

// Validate checks that b is exactly one well-formed document, however deep, up to MaxDepth.
func Validate(b []byte) error { return validate(b, 1) }

func validate(b []byte, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%w: nested deeper than %d", ErrMalformed, MaxDepth)
	}
	if len(b) < 5 || int(int32(binary.LittleEndian.Uint32(b))) != len(b) || b[len(b)-1] != 0 {
		return fmt.Errorf("%w: document length", ErrMalformed)
	}
	rest := b[4 : len(b)-1]
	for len(rest) > 0 {
		t := Type(rest[0])
		i := bytes.IndexByte(rest[1:], 0)
		if i < 0 {
			return fmt.Errorf("%w: element name without end", ErrMalformed)
		}
		key := rest[1 : 1+i]
		rest = rest[2+i:]
		n := size(t, rest)
		if n < 0 || !utf8.Valid(key) {
			return fmt.Errorf("%w: element %q of type %#x", ErrMalformed, key, byte(t))
		}
		if err := validateValue(t, rest[:n], depth); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// NestedDeeper reports whether a document contains more levels of documents and arrays than levels.
func NestedDeeper(d Doc, levels int) bool {
	// An element that nests takes 7 bytes at least: its type, the end of its name, and an empty document.
	const least = 7
	if len(d) <= (levels+1)*least {
		return false
	}
	for it := d.Iter(); ; {
		_, v, ok := it.Next()
		if !ok {
			return false
		}
		if v.T != bson.TypeEmbeddedDocument && v.T != bson.TypeArray {
			continue
		}
		if levels == 0 || NestedDeeper(v.Doc(), levels-1) {
			return true
		}
	}
}

func validateValue(t Type, b []byte, depth int) error {
	switch t {
	case bson.TypeUndefined:
		// It is deprecated, and inside an index it stands for the empty array.
		return fmt.Errorf("%w: the type undefined is not supported", ErrMalformed)
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		return validate(b, depth+1)
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		if b[len(b)-1] != 0 {
			return fmt.Errorf("%w: string without end", ErrMalformed)
		}
		if !utf8.Valid(b[4 : len(b)-1]) {
			return fmt.Errorf("%w: string is not UTF-8", ErrMalformed)
		}
	case bson.TypeBoolean:
		if b[0] > 1 {
			return fmt.Errorf("%w: boolean %d", ErrMalformed, b[0])
		}
	case bson.TypeBinary:
		// The old binary subtype has its length inside again. Both lengths must agree.
		if b[4] == 2 && (len(b) < 9 || int(int32(binary.LittleEndian.Uint32(b[5:]))) != len(b)-9) {
			return fmt.Errorf("%w: binary subtype 2 length", ErrMalformed)
		}
	case bson.TypeCodeWithScope:
		n := size(bson.TypeJavaScript, b[4:])
		if n < 0 || b[4+n-1] != 0 {
			return fmt.Errorf("%w: code", ErrMalformed)
		}
		return validate(b[4+n:], depth+1)
	}
	return nil
}

// Get returns the element of that name, or a missing value.
func (d Doc) Get(key string) Value {
	it := d.Iter()
	for {
		k, v, ok := it.Next()
		if !ok {
			return Value{}
		}
		if string(k) == key {
			return v
		}
	}
}

// Path returns the value below a dotted path that is split already; arrays on the way are not entered.
func (d Doc) Path(parts []string) Value {
	for i, p := range parts {
		v := d.Get(p)
		if i == len(parts)-1 {
			return v
		}
		if v.T != bson.TypeEmbeddedDocument {
			return Value{}
		}
		d = v.Doc()
	}
	return Value{}
}

// Empty reports whether the document has no element.
func (d Doc) Empty() bool { return len(d) <= 5 }

// Len counts the elements.
func (d Doc) Len() int {
	n := 0
	for it := d.Iter(); ; n++ {
		if _, _, ok := it.Next(); !ok {
			return n
		}
	}
}

// Values lists the elements' values, those of an array in order.
func (d Doc) Values() []Value {
	var vs []Value
	for it := d.Iter(); ; {
		_, v, ok := it.Next()
		if !ok {
			return vs
		}
		vs = append(vs, v)
	}
}

// At returns an array's element by position, or a missing value.
func (d Doc) At(i int) Value {
	for it := d.Iter(); ; i-- {
		_, v, ok := it.Next()
		if !ok || i == 0 {
			return v
		}
	}
}

// First returns the first element; an empty document gives an empty key and a missing value.
func (d Doc) First() (string, Value) {
	it := d.Iter()
	k, v, _ := it.Next()
	return string(k), v
}
