package protobson

import (
	"math"
	"sync"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
)

// Reading by reflection costs more than everything else on the way from a document to a client. So the fast path rewrites a
// document as protobuf bytes, which have a fast decoder. It rejects unusual data (another type, a value out of range, a
// duplicate field, two members of a union), and the reflective reader decides. Tests check that both readers agree.

// wireBuffers holds buffers for the rewritten bytes. Messages do not alias them.
var wireBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// largestBuffer is the capacity of the largest buffer that returns to the pool, in bytes.
const largestBuffer = 1 << 20

// readWire fills the empty message m from a document. False leaves m, in any state, to the reflective reader.
func (p *plan) readWire(data []byte, m proto.Message, inCollection bool) bool {
	buffer := wireBuffers.Get().(*[]byte)
	b, ok := p.wireFields((*buffer)[:0], data, inCollection, 1)
	ok = ok && proto.Unmarshal(b, m) == nil
	if cap(b) <= largestBuffer {
		*buffer = b[:0]
		wireBuffers.Put(buffer)
	}
	return ok
}

// wireFields appends the fields of a document.
func (p *plan) wireFields(b, data []byte, inCollection bool, depth int) (_ []byte, ok bool) {
	e, err := open(data)
	if err != nil || len(p.fields) > 64 {
		return b, false
	}
	var seen uint64
	var union protoreflect.OneofDescriptor
	for {
		more, err := e.next()
		if err != nil || !more {
			return b, err == nil
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
		if seen&(1<<f.index) != 0 || (f.union != nil && union != nil) {
			return b, false
		}
		seen |= 1 << f.index
		if f.union != nil {
			union = f.union
		}
		if b, ok = f.wire(b, e.val, depth); !ok {
			return b, false
		}
	}
}

// wire appends a field with its tag.
func (f *field) wire(b []byte, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	number := f.fd.Number()
	switch f.container {
	case single:
		return f.item.wire(b, number, v, depth)
	case list:
		e, err := openAs(v, bsoncore.TypeArray, depth)
		if err != nil {
			return b, false
		}
		for {
			more, err := e.next()
			if err != nil || !more {
				return b, err == nil
			}
			if b, ok = f.item.wire(b, number, e.val, depth+1); !ok {
				return b, false
			}
		}
	case pairs:
		e, err := openAs(v, bsoncore.TypeArray, depth)
		if err != nil {
			return b, false
		}
		for {
			more, err := e.next()
			if err != nil || !more {
				return b, err == nil
			}
			if b, ok = f.wirePair(b, number, e.val, depth+1); !ok {
				return b, false
			}
		}
	}
	return b, false // A map as a document is rare, so reflection reads it.
}

// The fields of a map's entry.
const (
	keyNumber   protowire.Number = 1
	valueNumber protowire.Number = 2
)

func (f *field) wirePair(b []byte, number protowire.Number, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	e, err := openAs(v, bsoncore.TypeEmbeddedDocument, depth)
	if err != nil {
		return b, false
	}
	b, at := startMessage(b, number)
	keys, values := 0, 0
	for {
		more, err := e.next()
		if err != nil {
			return b, false
		}
		if !more {
			return endMessage(b, at), keys == 1 && values == 1
		}
		switch string(e.key) {
		case "k":
			keys++
			b, ok = f.mapKey.wire(b, keyNumber, e.val, depth+1)
		case "v":
			values++
			b, ok = f.item.wire(b, valueNumber, e.val, depth+1)
		default:
			continue
		}
		if !ok {
			return b, false
		}
	}
}

// wire appends one value with the tag of a number.
func (c *codec) wire(b []byte, number protowire.Number, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	switch c.kind {
	case restjson.KindBool:
		x, ok := v.BooleanOK()
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), protowire.EncodeBool(x)), ok && c.plain
	case restjson.KindInt32, restjson.KindInt64, restjson.KindUint32, restjson.KindUint64:
		n, ok := integer(v)
		switch c.kind {
		case restjson.KindInt32:
			ok = ok && n >= math.MinInt32 && n <= math.MaxInt32
		case restjson.KindUint32:
			ok = ok && n >= 0 && n <= math.MaxUint32
		case restjson.KindUint64:
			ok = ok && n >= 0
		}
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(n)), ok && c.plain
	case restjson.KindDouble:
		x, ok := v.DoubleOK()
		return protowire.AppendFixed64(protowire.AppendTag(b, number, protowire.Fixed64Type), math.Float64bits(x)), ok
	case restjson.KindString:
		s, ok := v.StringValueOK()
		return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), s), ok
	case restjson.KindJSON, restjson.KindObject:
		s, ok := v.StringValueOK()
		return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), s), ok && utf8.ValidString(s)
	case restjson.KindBinary:
		_, x, ok := v.BinaryOK()
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), x), ok
	case restjson.KindUUID:
		subtype, x, ok := v.BinaryOK()
		if !ok || subtype != uuidSubtype || len(x) != 16 {
			return b, false
		}
		b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uuidText)
		return appendUUID(b, x), true
	case restjson.KindEnum:
		s, _ := v.StringValueOK()
		n, ok := restjson.EnumNumber(c.enum, s)
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(int64(n))), ok
	case restjson.KindTimestamp, restjson.KindDuration:
		us, ok := integer(v)
		seconds, nanos, fits := c.split(us)
		b, at := startMessage(b, number)
		b = protowire.AppendVarint(protowire.AppendTag(b, secondsNumber, protowire.VarintType), uint64(seconds))
		b = protowire.AppendVarint(protowire.AppendTag(b, nanosNumber, protowire.VarintType), uint64(nanos))
		return endMessage(b, at), ok && fits
	case restjson.KindMessage:
		b, at := startMessage(b, number)
		b, ok = c.wireMessage(b, v, depth)
		return endMessage(b, at), ok
	}
	return b, false
}

func (c *codec) wireMessage(b []byte, v bsoncore.Value, depth int) (_ []byte, ok bool) {
	p := c.use()
	switch {
	case depth >= maxDepth:
		return b, false
	case c.boxed || p.form == formDocument:
		if v.Type != bsoncore.TypeEmbeddedDocument {
			return b, false
		}
		return p.wireFields(b, v.Data, false, depth+1)
	case p.form == formTuple:
		return b, false
	case v.Type == bsoncore.TypeNull && p.fields[0].presence:
		return b, true
	}
	return p.fields[0].wire(b, v, depth+1)
}

// reserved is the space for the length of a message that is not known yet: a padded varint, which decoders accept. Four bytes
// hold 256 MiB, more than any document has.
const reserved = 4

func startMessage(b []byte, number protowire.Number) (_ []byte, at int) {
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return append(b, 0x80, 0x80, 0x80, 0), len(b)
}

func endMessage(b []byte, at int) []byte {
	n := len(b) - at - reserved
	b[at] |= byte(n & 0x7f)
	b[at+1] |= byte(n >> 7 & 0x7f)
	b[at+2] |= byte(n >> 14 & 0x7f)
	b[at+3] = byte(n >> 21 & 0x7f)
	return b
}
