package filter

import (
	"bytes"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func inLeaf(path, op string, v value.Value) (*Leaf, error) {
	if v.T != bson.TypeArray {
		return nil, mongoerr.New(mongoerr.BadValue, "%s needs an array", op)
	}
	l := newLeaf(path, In, value.Value{})
	for _, e := range v.Doc().Values() {
		switch e.T {
		case bson.TypeRegex:
			r, err := regexLeaf(path, e)
			if err != nil {
				return nil, err
			}
			l.re, l.source = append(l.re, r.re...), append(l.source, e)
			continue
		case bson.TypeNull:
			l.hasNull = true
		case bson.TypeEmbeddedDocument:
			if k, _ := e.Doc().First(); len(k) > 0 && k[0] == '$' && !isDBRef(k) {
				return nil, mongoerr.New(mongoerr.BadValue, "cannot nest $ under %s", op)
			}
		}
		l.List = append(l.List, e)
	}
	slices.SortFunc(l.List, value.Compare)
	l.List = slices.CompactFunc(l.List, value.Equal)
	return l, nil
}

func sizeLeaf(path string, v value.Value) (Node, error) {
	n, ok := v.Int()
	if !ok || n < 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "failed to parse $size: expected a non-negative integer, found %s", value.Format(v))
	}
	l := newLeaf(path, Size, value.Value{})
	l.n = n
	return l, nil
}

func typeLeaf(path string, v value.Value) (Node, error) {
	l := newLeaf(path, TypeOf, value.Value{})
	l.types = map[value.Type]bool{}
	list := []value.Value{v}
	if v.T == bson.TypeArray {
		list = v.Doc().Values()
	}
	for _, e := range list {
		if e.T == bson.TypeString {
			if e.Str() == "number" {
				for _, t := range []value.Type{bson.TypeDouble, bson.TypeInt32, bson.TypeInt64, bson.TypeDecimal128} {
					l.types[t] = true
				}
				continue
			}
			t, ok := value.TypeByName(e.Str())
			if !ok {
				return nil, mongoerr.New(mongoerr.BadValue, "unknown type name alias: %s", e.Str())
			}
			l.types[t] = true
			continue
		}
		n, ok := e.Int()
		if !ok {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "type must be represented as a number or a string")
		}
		t, ok := value.TypeByCode(n)
		if !ok {
			return nil, mongoerr.New(mongoerr.BadValue, "invalid numerical type code: %d", n)
		}
		l.types[t] = true
	}
	return l, nil
}

func modLeaf(path string, v value.Value) (Node, error) {
	bad := mongoerr.New(mongoerr.BadValue, "malformed mod, needs to be an array of a non-zero divisor and a remainder")
	if v.T != bson.TypeArray || v.Doc().Len() != 2 {
		return nil, bad
	}
	a, b := v.Doc().At(0), v.Doc().At(1)
	div, ok1 := value.OfDouble(math.Trunc(a.Float())).Int()
	rem, ok2 := value.OfDouble(math.Trunc(b.Float())).Int()
	if !a.IsNumber() || !b.IsNumber() || !ok1 || !ok2 || div == 0 {
		return nil, bad
	}
	l := newLeaf(path, Mod, value.Value{})
	l.div, l.n = div, rem
	return l, nil
}

// regexOperator compiles {$regex: …, $options: …}; the pattern is a string or a regular expression.
func regexOperator(path string, v, options value.Value) (Node, error) {
	var pattern, opts string
	switch v.T {
	case bson.TypeString:
		pattern = v.Str()
	case bson.TypeRegex:
		pattern, opts = regexParts(v)
	default:
		return nil, mongoerr.New(mongoerr.BadValue, "$regex has to be a string")
	}
	if !options.IsMissing() {
		if options.T != bson.TypeString {
			return nil, mongoerr.New(mongoerr.BadValue, "$options has to be a string")
		}
		if opts != "" {
			return nil, mongoerr.New(mongoerr.Kind{Code: 51075, Name: "Location51075"}, "options set in both $regex and $options")
		}
		opts = options.Str()
	}
	b := append(append([]byte(pattern), 0), opts...)
	return regexLeaf(path, value.Value{T: bson.TypeRegex, B: append(b, 0)})
}

func regexParts(v value.Value) (pattern, options string) {
	i := bytes.IndexByte(v.B, 0)
	return string(v.B[:i]), string(v.B[i+1 : len(v.B)-1])
}

func regexLeaf(path string, v value.Value) (*Leaf, error) {
	expression, options := regexParts(v)
	flags := ""
	for _, o := range options {
		switch o {
		case 'i', 'm', 's':
			flags += string(o)
		case 'u':
		default:
			return nil, mongoerr.NotImplemented("$regex option %q", string(o))
		}
	}
	if flags != "" {
		flags = "(?" + flags + ")"
	}
	re, err := compilePattern(flags + expression)
	if err != nil {
		return nil, mongoerr.NotImplemented("regular expression %q (%v): what RE2 does not know", expression, err)
	}
	l := newLeaf(path, Regex, v)
	l.re, l.source = []*pattern{re}, []value.Value{v}
	return l, nil
}
