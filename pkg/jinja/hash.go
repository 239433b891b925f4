package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// hashKey is equal for two values exactly if Python treats them as equal dict keys.
type hashKey struct {
	kind byte
	num  int64
	text string
	ref  any
}

// maxHash is the maximum size of a tuple as a key, in items and sixteenths of a byte of text. Tuples can share parts, so their
// size can exceed their memory.
const maxHash = 1 << 17

// hash returns the key of v. Mutable values have none (TypeError).
func hash(v Value) (hashKey, error) {
	left := maxHash
	return hashWithin(v, &left)
}

func hashWithin(v Value, left *int) (hashKey, error) {
	switch v := v.(type) {
	case strValue:
		return hashKey{kind: 's', text: string(v)}, nil
	case markupValue:
		return hashKey{kind: 's', text: string(v)}, nil
	case bytesValue:
		return hashKey{kind: 'B', text: string(v)}, nil
	case intValue:
		return hashKey{kind: 'i', num: int64(v)}, nil
	case boolValue:
		n, _ := AsInt(v)
		return hashKey{kind: 'i', num: n}, nil
	case bigValue:
		return hashKey{kind: 'b', text: v.n.Text(62)}, nil
	case floatValue:
		return hashFloat(float64(v)), nil
	case noneValue:
		return hashKey{kind: 'N'}, nil
	case *tupleValue:
		return hashTuple(v.items, left)
	case rangeValue:
		if v.length == 0 {
			return hashKey{kind: 'r'}, nil
		}
		step := v.step
		if v.length == 1 {
			step = 0
		}
		return hashKey{kind: 'r', num: v.start, text: strconv.FormatInt(v.length, 10) + "," + strconv.FormatInt(step, 10)}, nil
	case *undefinedValue:
		if v.mode == Strict {
			return hashKey{}, v.fail()
		}
		return hashKey{kind: 'u', num: int64(v.mode)}, nil
	case *listValue, *dictValue, sliceValue:
		return hashKey{}, typeErr("unhashable type: '%s'", v.typeName())
	case *dictView:
		if v.kind != viewValues {
			return hashKey{}, typeErr("unhashable type: '%s'", v.typeName())
		}
		return hashKey{kind: 'p', ref: v}, nil
	case complexValue:
		if imag(v) == 0 {
			return hashFloat(real(v)), nil
		}
		return hashKey{kind: 'c', ref: v}, nil
	}
	return hashKey{kind: 'p', ref: v}, nil
}

func hashFloat(f float64) hashKey {
	switch {
	case f == math.Trunc(f) && math.Abs(f) < 1<<62:
		return hashKey{kind: 'i', num: int64(f)}
	case math.IsInf(f, 0) || math.IsNaN(f) || f != math.Trunc(f):
		return hashKey{kind: 'f', num: int64(math.Float64bits(f))}
	}
	n, _ := big.NewFloat(f).Int(nil)
	if n.IsInt64() {
		return hashKey{kind: 'i', num: n.Int64()}
	}
	return hashKey{kind: 'b', text: n.Text(62)}
}

func hashTuple(items []Value, left *int) (hashKey, error) {
	var b strings.Builder
	var ref any
	for _, it := range items {
		k, err := hashWithin(it, left)
		if err != nil {
			return k, err
		}
		if *left -= 1 + len(k.text)/16; *left < 0 {
			return k, budgetErr("a tuple is too large for a key")
		}
		b.WriteByte(k.kind)
		b.WriteString(strconv.FormatInt(k.num, 36))
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(len(k.text)))
		b.WriteByte(':')
		b.WriteString(k.text)
		if k.ref != nil {
			ref = [2]any{ref, k.ref}
		}
	}
	return hashKey{kind: 't', num: int64(len(items)), text: b.String(), ref: ref}, nil
}
