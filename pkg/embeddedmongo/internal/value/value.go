// Package value reads, compares, orders and encodes BSON values in their wire form, without decoding them into Go values.
package value

import (
	"bytes"
	"encoding/binary"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Type is a BSON type byte; zero stands for a value that is missing.
type Type = bson.Type

// Missing is the type of an absent value.
const Missing Type = 0

// Value is one BSON value: its type and its wire bytes. The zero Value is "missing". The bytes are shared with the document
// that the value was read from and must not be modified.
type Value struct {
	T Type
	B []byte
}

// Doc is a BSON document in wire form. Functions of this package expect it to have passed Validate.
type Doc []byte

// EmptyDoc is a document without elements.
var EmptyDoc = Doc{5, 0, 0, 0, 0}

// Frequently used constant values.
var (
	Null  = Value{T: bson.TypeNull}
	True  = Value{T: bson.TypeBoolean, B: []byte{1}}
	False = Value{T: bson.TypeBoolean, B: []byte{0}}
)

// IsMissing reports whether the value is absent.
func (v Value) IsMissing() bool { return v.T == Missing }

// IsNullish reports whether the value is absent, null or undefined.
func (v Value) IsNullish() bool {
	return v.T == Missing || v.T == bson.TypeNull || v.T == bson.TypeUndefined
}

// IsNumber reports whether the value is of a numeric type.
func (v Value) IsNumber() bool {
	return v.T == bson.TypeDouble || v.T == bson.TypeInt32 || v.T == bson.TypeInt64 || v.T == bson.TypeDecimal128
}

// Doc returns an embedded document or an array as a document.
func (v Value) Doc() Doc { return Doc(v.B) }

// Str returns the text of a string, symbol or code value.
func (v Value) Str() string { return string(v.strBytes()) }

func (v Value) strBytes() []byte {
	if len(v.B) < 5 {
		return nil
	}
	return v.B[4 : len(v.B)-1]
}

// Bool returns a boolean's value.
func (v Value) Bool() bool { return len(v.B) > 0 && v.B[0] != 0 }

// Int32 returns an int32's value.
func (v Value) Int32() int32 { return int32(binary.LittleEndian.Uint32(v.B)) }

// Int64 returns the value of an int64, a date (milliseconds) or a timestamp.
func (v Value) Int64() int64 { return int64(binary.LittleEndian.Uint64(v.B)) }

// Double returns a double's value.
func (v Value) Double() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(v.B)) }

// Float converts a number of any type to a double; other types give 0.
func (v Value) Float() float64 {
	switch v.T {
	case bson.TypeDouble:
		return v.Double()
	case bson.TypeInt32:
		return float64(v.Int32())
	case bson.TypeInt64:
		return float64(v.Int64())
	case bson.TypeDecimal128:
		f, _ := decimalFloat(v)
		return f
	}
	return 0
}

// Int converts a number to an int64 when it is integral and in range.
func (v Value) Int() (int64, bool) {
	switch v.T {
	case bson.TypeInt32:
		return int64(v.Int32()), true
	case bson.TypeInt64:
		return v.Int64(), true
	case bson.TypeDouble, bson.TypeDecimal128:
		f := v.Float()
		if f != math.Trunc(f) || f < -(1<<63) || f >= 1<<63 {
			return 0, false
		}
		return int64(f), true
	}
	return 0, false
}

// Truthy reports whether a command option or an expression's result counts as true: everything except false, zero, null and missing.
func (v Value) Truthy() bool {
	switch v.T {
	case bson.TypeBoolean:
		return v.Bool()
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		return v.Float() != 0
	}
	return !v.IsNullish()
}

// Clone returns a value that shares no bytes with v.
func (v Value) Clone() Value { return Value{T: v.T, B: bytes.Clone(v.B)} }

// Constructors.

// OfInt32 makes an int32.
func OfInt32(i int32) Value {
	return Value{T: bson.TypeInt32, B: binary.LittleEndian.AppendUint32(nil, uint32(i))}
}

// OfInt64 makes an int64.
func OfInt64(i int64) Value {
	return Value{T: bson.TypeInt64, B: binary.LittleEndian.AppendUint64(nil, uint64(i))}
}

// OfInt makes an int32 when the number fits, else an int64.
func OfInt(i int64) Value {
	if i >= math.MinInt32 && i <= math.MaxInt32 {
		return OfInt32(int32(i))
	}
	return OfInt64(i)
}

// OfDouble makes a double.
func OfDouble(f float64) Value {
	return Value{T: bson.TypeDouble, B: binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))}
}

// OfString makes a string.
func OfString(s string) Value {
	b := make([]byte, 0, len(s)+5)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s)+1))
	b = append(b, s...)
	return Value{T: bson.TypeString, B: append(b, 0)}
}

// OfBool makes a boolean.
func OfBool(b bool) Value {
	if b {
		return True
	}
	return False
}

// OfDate makes a date from milliseconds since the epoch.
func OfDate(ms int64) Value {
	return Value{T: bson.TypeDateTime, B: binary.LittleEndian.AppendUint64(nil, uint64(ms))}
}

// OfDoc makes an embedded document.
func OfDoc(d Doc) Value { return Value{T: bson.TypeEmbeddedDocument, B: d} }

// OfArray makes an array of the values.
func OfArray(vs []Value) Value {
	b := NewBuilder()
	for i, v := range vs {
		b.Add(Index(i), v)
	}
	return Value{T: bson.TypeArray, B: b.Done()}
}

// Of converts a Go value that the driver's bson package can marshal. It panics on others: callers pass literals.
func Of(x any) Value {
	t, b, err := bson.MarshalValue(x)
	if err != nil {
		panic(err)
	}
	return Value{T: t, B: b}
}

// DocOf converts a bson.D, bson.M or struct. It panics on values that cannot be marshalled: callers pass literals.
func DocOf(x any) Doc {
	b, err := bson.Marshal(x)
	if err != nil {
		panic(err)
	}
	return b
}
