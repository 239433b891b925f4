// Package expr compiles aggregation expressions into functions over documents.
package expr

import (
	"bytes"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Expr is a compiled expression. A missing value is a legal result ("$a" of a document without a).
type Expr func(*Env) (value.Value, error)

// Env is what an expression is evaluated in.
type Env struct{ Root value.Doc }

// Const makes an expression of a fixed value.
func Const(v value.Value) Expr { return func(*Env) (value.Value, error) { return v, nil } }

// Compile compiles an expression. Operators outside of the subset, and variables, are errors that name them.
func Compile(v value.Value) (Expr, error) {
	switch v.T {
	case bson.TypeString:
		s := v.Str()
		if !strings.HasPrefix(s, "$") {
			return Const(v), nil
		}
		return compilePath(s)
	case bson.TypeArray:
		return compileArray(v)
	case bson.TypeEmbeddedDocument:
		key, arg := v.Doc().First()
		if strings.HasPrefix(key, "$") {
			if v.Doc().Len() != 1 {
				return nil, mongoerr.New(mongoerr.Kind{Code: 15983, Name: "Location15983"},
					"an object representing an expression must have exactly one field: %s", value.Format(v))
			}
			return compileOperator(key, arg)
		}
		return compileObject(v.Doc())
	}
	return Const(v), nil
}

func compilePath(s string) (Expr, error) {
	if strings.HasPrefix(s, "$$") {
		return nil, mongoerr.NotImplemented("aggregation variable %s", s)
	}
	return Field(s[1:])
}

// Field compiles a field path without its dollar sign. Through arrays it maps: "a.b" of {a: [{b: 1}, {b: 2}]} is [1, 2].
func Field(path string) (Expr, error) {
	parts := strings.Split(path, ".")
	for _, p := range parts {
		if p == "" {
			return nil, mongoerr.New(mongoerr.Kind{Code: 40353, Name: "Location40353"}, "FieldPath %q has an empty field name", path)
		}
		if strings.HasPrefix(p, "$") {
			return nil, mongoerr.New(mongoerr.Kind{Code: 16410, Name: "Location16410"}, "FieldPath field names may not start with '$': %q", path)
		}
	}
	if len(parts) == 1 {
		return func(e *Env) (value.Value, error) { return e.Root.Get(path), nil }, nil
	}
	return func(e *Env) (value.Value, error) { return descend(value.OfDoc(e.Root), parts), nil }, nil
}

func descend(v value.Value, parts []string) value.Value {
	for i, p := range parts {
		switch v.T {
		case bson.TypeEmbeddedDocument:
			v = v.Doc().Get(p)
		case bson.TypeArray:
			var out []value.Value
			for _, e := range v.Doc().Values() {
				if e.T != bson.TypeEmbeddedDocument {
					continue // A nested array is not traversed.
				}
				if r := descend(e, parts[i:]); !r.IsMissing() {
					out = append(out, r)
				}
			}
			return value.OfArray(out)
		default:
			return value.Value{}
		}
	}
	return v
}

func compileList(v value.Value) ([]Expr, error) {
	if v.T != bson.TypeArray {
		x, err := Compile(v)
		if err != nil {
			return nil, err
		}
		return []Expr{x}, nil
	}
	var xs []Expr
	for _, e := range v.Doc().Values() {
		x, err := Compile(e)
		if err != nil {
			return nil, err
		}
		xs = append(xs, x)
	}
	return xs, nil
}

func compileArray(v value.Value) (Expr, error) {
	xs, err := compileList(v)
	if err != nil {
		return nil, err
	}
	return func(e *Env) (value.Value, error) {
		vs := make([]value.Value, len(xs))
		for i, x := range xs {
			r, err := x(e)
			if err != nil {
				return r, err
			}
			if r.IsMissing() {
				r = value.Null
			}
			vs[i] = r
		}
		return value.OfArray(vs), nil
	}, nil
}

func compileObject(d value.Doc) (Expr, error) {
	type field struct {
		name string
		x    Expr
	}
	var fs []field
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		if bytes.ContainsAny(k, "$.") {
			return nil, mongoerr.New(mongoerr.Kind{Code: 16412, Name: "Location16412"}, "field name %q is not allowed in an expression object", k)
		}
		x, err := Compile(v)
		if err != nil {
			return nil, err
		}
		fs = append(fs, field{string(k), x})
	}
	return func(e *Env) (value.Value, error) {
		b := value.NewBuilder()
		for _, f := range fs {
			v, err := f.x(e)
			if err != nil {
				return v, err
			}
			b.Add(f.name, v)
		}
		return value.OfDoc(b.Done()), nil
	}, nil
}
