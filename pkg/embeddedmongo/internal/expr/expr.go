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

// Env is what an expression is evaluated in. Now is the time of the command in milliseconds: $$NOW is one instant in a command.
type Env struct {
	Root value.Doc
	Now  int64
	vars *binding
}

type binding struct {
	name string
	v    value.Value
	next *binding
}

// With returns an environment that also knows a variable.
func (e *Env) With(name string, v value.Value) *Env {
	return &Env{Root: e.Root, Now: e.Now, vars: &binding{name: name, v: v, next: e.vars}}
}

func (e *Env) lookup(name string) (value.Value, bool) {
	for b := e.vars; b != nil; b = b.next {
		if b.name == name {
			return b.v, true
		}
	}
	return value.Value{}, false
}

// scope is the set of variables that are bound where an expression stands.
type scope struct {
	name string
	next *scope
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.next {
		if s.name == name {
			return true
		}
	}
	return false
}

// Compile compiles an expression. Unknown operators and variables are errors that name them.
func Compile(v value.Value) (Expr, error) { return compile(v, nil) }

// Const makes an expression of a fixed value.
func Const(v value.Value) Expr { return func(*Env) (value.Value, error) { return v, nil } }

func compile(v value.Value, sc *scope) (Expr, error) {
	switch v.T {
	case bson.TypeString:
		s := v.Str()
		if !strings.HasPrefix(s, "$") {
			return Const(v), nil
		}
		return compilePath(s, sc)
	case bson.TypeArray:
		return compileArray(v, sc)
	case bson.TypeEmbeddedDocument:
		key, arg := v.Doc().First()
		if strings.HasPrefix(key, "$") {
			if v.Doc().Len() != 1 {
				return nil, mongoerr.New(mongoerr.Kind{Code: 15983, Name: "Location15983"},
					"an object representing an expression must have exactly one field: %s", value.Format(v))
			}
			return compileOperator(key, arg, sc)
		}
		return compileObject(v.Doc(), sc)
	}
	return Const(v), nil
}

func compilePath(s string, sc *scope) (Expr, error) {
	if !strings.HasPrefix(s, "$$") {
		return Field(s[1:])
	}
	name, rest, dotted := strings.Cut(s[2:], ".")
	var base Expr
	switch {
	case sc.has(name):
		base = func(e *Env) (value.Value, error) {
			v, _ := e.lookup(name)
			return v, nil
		}
	case name == "ROOT", name == "CURRENT":
		base = func(e *Env) (value.Value, error) { return value.OfDoc(e.Root), nil }
	case name == "NOW":
		base = func(e *Env) (value.Value, error) { return value.OfDate(e.Now), nil }
	case name == "REMOVE":
		base = Const(value.Value{})
	default:
		return nil, mongoerr.NotImplemented("aggregation variable $$%s", name)
	}
	if !dotted {
		return base, nil
	}
	parts := strings.Split(rest, ".")
	return func(e *Env) (value.Value, error) {
		v, err := base(e)
		if err != nil {
			return v, err
		}
		return descend(v, parts), nil
	}, nil
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

func compileList(v value.Value, sc *scope) ([]Expr, error) {
	if v.T != bson.TypeArray {
		x, err := compile(v, sc)
		if err != nil {
			return nil, err
		}
		return []Expr{x}, nil
	}
	var xs []Expr
	for _, e := range v.Doc().Values() {
		x, err := compile(e, sc)
		if err != nil {
			return nil, err
		}
		xs = append(xs, x)
	}
	return xs, nil
}

func compileArray(v value.Value, sc *scope) (Expr, error) {
	xs, err := compileList(v, sc)
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

func compileObject(d value.Doc, sc *scope) (Expr, error) {
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
		x, err := compile(v, sc)
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
