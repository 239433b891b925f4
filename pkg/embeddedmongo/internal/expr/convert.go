package expr

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

var conversions = map[string]function{
	"$type":     {1, 1, func(_ *Env, a []value.Value) (value.Value, error) { return value.OfString(value.TypeName(a[0].T)), nil }},
	"$isNumber": {1, 1, func(_ *Env, a []value.Value) (value.Value, error) { return value.OfBool(a[0].IsNumber()), nil }},
	"$toString": {1, 1, nullable(toString)},
	"$toInt":    {1, 1, nullable(toInteger(math.MinInt32, math.MaxInt32, func(i int64) value.Value { return value.OfInt32(int32(i)) }))},
	"$toLong":   {1, 1, nullable(toInteger(math.MinInt64, math.MaxInt64, value.OfInt64))},
	"$toDouble": {1, 1, nullable(toDouble)},
	"$toBool":   {1, 1, nullable(toBool)},
	"$toDate":   {1, 1, nullable(toDate)},
}

func nullable(f func(value.Value) (value.Value, error)) func(*Env, []value.Value) (value.Value, error) {
	return func(_ *Env, a []value.Value) (value.Value, error) {
		if a[0].IsNullish() {
			return value.Null, nil
		}
		return f(a[0])
	}
}

func conversionFailure(v value.Value, to string) error {
	return mongoerr.New(mongoerr.Kind{Code: 241, Name: "ConversionFailure"}, "cannot convert %s of type %s to %s", value.Format(v), value.TypeName(v.T), to)
}

func toString(v value.Value) (value.Value, error) {
	switch v.T {
	case bson.TypeBoolean:
		return value.OfString(strconv.FormatBool(v.Bool())), nil
	case bson.TypeObjectID:
		return value.OfString(hex.EncodeToString(v.B)), nil
	}
	s, err := text(v)
	if err != nil {
		return v, conversionFailure(v, "string")
	}
	return value.OfString(s), nil
}

func toInteger(lo, hi int64, wrap func(int64) value.Value) func(value.Value) (value.Value, error) {
	return func(v value.Value) (value.Value, error) {
		var i int64
		switch {
		case v.T == bson.TypeBoolean:
			if v.Bool() {
				i = 1
			}
		case v.T == bson.TypeDateTime:
			i = v.Int64()
		case v.T == bson.TypeString:
			n, err := strconv.ParseInt(v.Str(), 10, 64)
			if err != nil {
				return v, conversionFailure(v, "integer")
			}
			i = n
		case v.IsNumber():
			n, ok := value.OfDouble(math.Trunc(v.Float())).Int()
			if v.T == bson.TypeInt64 {
				n, ok = v.Int()
			}
			if !ok {
				return v, conversionFailure(v, "integer")
			}
			i = n
		default:
			return v, conversionFailure(v, "integer")
		}
		if i < lo || i > hi {
			return v, conversionFailure(v, "integer")
		}
		return wrap(i), nil
	}
}

func toDouble(v value.Value) (value.Value, error) {
	switch {
	case v.IsNumber():
		return value.OfDouble(v.Float()), nil
	case v.T == bson.TypeBoolean:
		if v.Bool() {
			return value.OfDouble(1), nil
		}
		return value.OfDouble(0), nil
	case v.T == bson.TypeDateTime:
		return value.OfDouble(float64(v.Int64())), nil
	case v.T == bson.TypeString:
		if f, err := strconv.ParseFloat(v.Str(), 64); err == nil && !strings.HasPrefix(v.Str(), "0x") {
			return value.OfDouble(f), nil
		}
	}
	return v, conversionFailure(v, "double")
}

func toBool(v value.Value) (value.Value, error) { return value.OfBool(v.Truthy()), nil }

func toDate(v value.Value) (value.Value, error) {
	switch v.T {
	case bson.TypeDateTime:
		return v, nil
	case bson.TypeInt64, bson.TypeDouble:
		if i, ok := value.OfDouble(math.Trunc(v.Float())).Int(); ok {
			return value.OfDate(i), nil
		}
	case bson.TypeObjectID:
		return value.OfDate(int64(uint32(v.B[0])<<24|uint32(v.B[1])<<16|uint32(v.B[2])<<8|uint32(v.B[3])) * 1000), nil
	case bson.TypeTimestamp:
		return value.OfDate((v.Int64() >> 32 & 0xffffffff) * 1000), nil
	case bson.TypeString:
		for _, l := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02"} {
			if t, err := time.Parse(l, v.Str()); err == nil {
				return value.OfDate(t.UnixMilli()), nil
			}
		}
	}
	return v, conversionFailure(v, "date")
}
