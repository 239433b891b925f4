package value

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Classes of types in MongoDB's comparison order. Types of one class compare by value.
const (
	ClassMinKey     = 0x05
	ClassEmptyArray = 0x0a // Undefined: the index key of an empty array.
	ClassNull       = 0x10
	ClassNumber     = 0x20
	ClassString     = 0x30
	ClassObject     = 0x40
	ClassArray      = 0x50
	ClassBinary     = 0x60
	ClassObjectID   = 0x68
	ClassBool       = 0x70
	ClassDate       = 0x78
	ClassTimestamp  = 0x80
	ClassRegex      = 0x88
	ClassDBPointer  = 0x90
	ClassCode       = 0x98
	ClassCodeScope  = 0xa0
	ClassMaxKey     = 0xf0
)

// Class returns the place of a type in the comparison order; a missing value has null's.
func Class(t Type) byte {
	switch t {
	case bson.TypeMinKey:
		return ClassMinKey
	case bson.TypeUndefined:
		return ClassEmptyArray
	case Missing, bson.TypeNull:
		return ClassNull
	case bson.TypeDouble, bson.TypeInt32, bson.TypeInt64, bson.TypeDecimal128:
		return ClassNumber
	case bson.TypeString, bson.TypeSymbol:
		return ClassString
	case bson.TypeEmbeddedDocument:
		return ClassObject
	case bson.TypeArray:
		return ClassArray
	case bson.TypeBinary:
		return ClassBinary
	case bson.TypeObjectID:
		return ClassObjectID
	case bson.TypeBoolean:
		return ClassBool
	case bson.TypeDateTime:
		return ClassDate
	case bson.TypeTimestamp:
		return ClassTimestamp
	case bson.TypeRegex:
		return ClassRegex
	case bson.TypeDBPointer:
		return ClassDBPointer
	case bson.TypeJavaScript:
		return ClassCode
	case bson.TypeCodeWithScope:
		return ClassCodeScope
	}
	return ClassMaxKey
}

// Compare orders two values as MongoDB does: by class, then by value; documents element by element.
func Compare(a, b Value) int {
	ca, cb := Class(a.T), Class(b.T)
	if ca != cb {
		return cmp.Compare(ca, cb)
	}
	switch ca {
	case ClassNumber:
		return compareNumbers(a, b)
	case ClassString:
		return bytes.Compare(a.strBytes(), b.strBytes())
	case ClassObject, ClassArray:
		return CompareDocs(a.Doc(), b.Doc())
	case ClassBinary:
		return compareBinary(a, b)
	case ClassDate:
		return cmp.Compare(a.Int64(), b.Int64())
	case ClassTimestamp:
		return cmp.Compare(uint64(a.Int64()), uint64(b.Int64()))
	case ClassNull, ClassEmptyArray, ClassMinKey, ClassMaxKey:
		return 0
	}
	return bytes.Compare(a.B, b.B)
}

// Equal reports whether two values are equal in MongoDB's sense: 1 equals 1.0.
func Equal(a, b Value) bool {
	if a.T == b.T && bytes.Equal(a.B, b.B) {
		return true
	}
	return Compare(a, b) == 0
}

// CompareDocs orders documents: each element by the class of its value, then by name, then by value; a prefix comes first.
func CompareDocs(a, b Doc) int {
	ia, ib := a.Iter(), b.Iter()
	for {
		ka, va, oka := ia.Next()
		kb, vb, okb := ib.Next()
		switch {
		case !oka && !okb:
			return 0
		case !oka:
			return -1
		case !okb:
			return 1
		}
		if c := cmp.Compare(Class(va.T), Class(vb.T)); c != 0 {
			return c
		}
		if c := bytes.Compare(ka, kb); c != 0 {
			return c
		}
		if c := Compare(va, vb); c != 0 {
			return c
		}
	}
}

// compareBinary orders by length, subtype, then bytes.
func compareBinary(a, b Value) int {
	la, lb := binary.LittleEndian.Uint32(a.B), binary.LittleEndian.Uint32(b.B)
	if c := cmp.Compare(la, lb); c != 0 {
		return c
	}
	return bytes.Compare(a.B[4:], b.B[4:])
}

func compareNumbers(a, b Value) int {
	if a.T == bson.TypeDecimal128 || b.T == bson.TypeDecimal128 {
		return bytes.Compare(appendNumber(nil, a), appendNumber(nil, b))
	}
	if a.T == bson.TypeDouble {
		if b.T == bson.TypeDouble {
			return compareFloats(a.Double(), b.Double())
		}
		return -compareIntFloat(b.integer(), a.Double())
	}
	if b.T == bson.TypeDouble {
		return compareIntFloat(a.integer(), b.Double())
	}
	return cmp.Compare(a.integer(), b.integer())
}

func (v Value) integer() int64 {
	if v.T == bson.TypeInt32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

// compareFloats puts NaN before all other numbers.
func compareFloats(a, b float64) int { return cmp.Compare(a, b) }

// compareIntFloat is exact where the conversion of the integer would round.
func compareIntFloat(i int64, f float64) int {
	switch {
	case math.IsNaN(f):
		return 1
	case f >= 1<<63:
		return -1
	case f < -(1 << 63):
		return 1
	}
	t := math.Trunc(f)
	if c := cmp.Compare(i, int64(t)); c != 0 {
		return c
	}
	return cmp.Compare(t, f)
}
