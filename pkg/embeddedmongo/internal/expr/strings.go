package expr

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

var strings_ = map[string]function{
	"$concat":      {0, -1, concat},
	"$toLower":     {1, 1, mapString(strings.ToLower)},
	"$toUpper":     {1, 1, mapString(strings.ToUpper)},
	"$strLenCP":    {1, 1, strLen("$strLenCP", utf8.RuneCountInString)},
	"$strLenBytes": {1, 1, strLen("$strLenBytes", func(s string) int { return len(s) })},
	"$substrCP":    {3, 3, substr},
	"$split":       {2, 2, split},
	"$strcasecmp":  {2, 2, strcasecmp},
}

func concat(_ *Env, a []value.Value) (value.Value, error) {
	var b strings.Builder
	for _, v := range a {
		if v.IsNullish() {
			return value.Null, nil
		}
		if v.T != bson.TypeString {
			return v, mongoerr.New(mongoerr.Kind{Code: 16702, Name: "Location16702"}, "$concat only supports strings, not %s", value.TypeName(v.T))
		}
		b.WriteString(v.Str())
	}
	return value.OfString(b.String()), nil
}

// text converts what the string operators accept: strings, numbers and dates; null and missing are the empty string.
func text(v value.Value) (string, error) {
	switch {
	case v.IsNullish():
		return "", nil
	case v.T == bson.TypeString || v.T == bson.TypeSymbol:
		return v.Str(), nil
	case v.T == bson.TypeDateTime:
		return isoDate(v.Int64()), nil
	case v.IsNumber():
		return numberText(v), nil
	}
	return "", mongoerr.New(mongoerr.Kind{Code: 16007, Name: "Location16007"}, "can't convert from BSON type %s to String", value.TypeName(v.T))
}

func numberText(v value.Value) string {
	switch v.T {
	case bson.TypeDouble:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	case bson.TypeDecimal128:
		return bson.RawValue{Type: v.T, Value: v.B}.Decimal128().String()
	}
	i, _ := v.Int()
	return strconv.FormatInt(i, 10)
}

func mapString(f func(string) string) func(*Env, []value.Value) (value.Value, error) {
	return func(_ *Env, a []value.Value) (value.Value, error) {
		s, err := text(a[0])
		return value.OfString(f(s)), err
	}
}

func strLen(op string, f func(string) int) func(*Env, []value.Value) (value.Value, error) {
	return func(_ *Env, a []value.Value) (value.Value, error) {
		if a[0].T != bson.TypeString {
			return a[0], mongoerr.New(mongoerr.Kind{Code: 34471, Name: "Location34471"}, "%s requires a string argument, found: %s", op, value.TypeName(a[0].T))
		}
		return value.OfInt32(int32(f(a[0].Str()))), nil
	}
}

func substr(_ *Env, a []value.Value) (value.Value, error) {
	s, err := text(a[0])
	if err != nil {
		return a[0], err
	}
	from, ok1 := a[1].Int()
	n, ok2 := a[2].Int()
	if !ok1 || !ok2 || from < 0 || n < 0 {
		return a[0], mongoerr.New(mongoerr.BadValue, "$substrCP: starting index and length must be non-negative integers")
	}
	r := []rune(s)
	from = min(from, int64(len(r)))
	n = min(n, int64(len(r))-from)
	return value.OfString(string(r[from : from+n])), nil
}

func split(_ *Env, a []value.Value) (value.Value, error) {
	if a[0].IsNullish() || a[1].IsNullish() {
		return value.Null, nil
	}
	if a[0].T != bson.TypeString || a[1].T != bson.TypeString || a[1].Str() == "" {
		return a[0], mongoerr.New(mongoerr.BadValue, "$split requires a string and a non-empty string separator")
	}
	var vs []value.Value
	for _, p := range strings.Split(a[0].Str(), a[1].Str()) {
		vs = append(vs, value.OfString(p))
	}
	return value.OfArray(vs), nil
}

func strcasecmp(_ *Env, a []value.Value) (value.Value, error) {
	x, err := text(a[0])
	if err != nil {
		return a[0], err
	}
	y, err := text(a[1])
	return value.OfInt32(int32(strings.Compare(strings.ToUpper(x), strings.ToUpper(y)))), err
}
