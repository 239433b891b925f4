package project

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/expr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Stage is an aggregation stage that makes one document of one.
type Stage func(d value.Doc, now int64) (value.Doc, error)

// CompileStage compiles $project, $set, $addFields, $unset, $replaceRoot or $replaceWith; other names are NotImplemented.
func CompileStage(name string, arg value.Value) (Stage, error) {
	switch name {
	case "$project":
		if arg.T != bson.TypeEmbeddedDocument || arg.Doc().Empty() {
			return nil, mongoerr.New(mongoerr.FailedToParse, "$project specification must be a non-empty object")
		}
		p, err := Compile(arg.Doc(), Options{})
		if err != nil {
			return nil, err
		}
		return func(d value.Doc, now int64) (value.Doc, error) { return p.Apply(d, now, -1) }, nil
	case "$set", "$addFields":
		if arg.T != bson.TypeEmbeddedDocument {
			return nil, mongoerr.New(mongoerr.FailedToParse, "%s specification must be an object", name)
		}
		return compileSet(arg.Doc())
	case "$unset":
		return compileUnset(arg)
	case "$replaceRoot":
		if arg.T != bson.TypeEmbeddedDocument || arg.Doc().Len() != 1 || arg.Doc().Get("newRoot").IsMissing() {
			return nil, mongoerr.New(mongoerr.FailedToParse, "$replaceRoot takes {newRoot: <expression>}")
		}
		return compileReplace(arg.Doc().Get("newRoot"))
	case "$replaceWith":
		return compileReplace(arg)
	}
	return nil, mongoerr.NotImplemented("aggregation stage %s", name)
}

func compileReplace(arg value.Value) (Stage, error) {
	x, err := expr.Compile(arg)
	if err != nil {
		return nil, err
	}
	return func(d value.Doc, now int64) (value.Doc, error) {
		v, err := x(&expr.Env{Root: d, Now: now})
		if err != nil {
			return nil, err
		}
		if v.T != bson.TypeEmbeddedDocument {
			return nil, mongoerr.New(mongoerr.Kind{Code: 40228, Name: "Location40228"}, "'newRoot' expression must evaluate to an object, but resulting value was: %s", value.Format(v))
		}
		return v.Doc(), nil
	}, nil
}

func compileUnset(arg value.Value) (Stage, error) {
	list := []value.Value{arg}
	if arg.T == bson.TypeArray {
		list = arg.Doc().Values()
	}
	p := &Projection{root: &tree{}, id: true}
	named := paths{}
	for _, v := range list {
		if v.T != bson.TypeString || v.Str() == "" {
			return nil, mongoerr.New(mongoerr.FailedToParse, "$unset takes a string or an array of strings")
		}
		path := strings.Split(v.Str(), ".")
		if err := named.add(path); err != nil {
			return nil, err
		}
		p.root.at(path).leaf = true
	}
	return func(d value.Doc, now int64) (value.Doc, error) { return p.Apply(d, now, -1) }, nil
}

// compileSet flattens nested documents into paths: {a: {b: 1}} sets a.b and keeps a's other fields.
func compileSet(d value.Doc) (Stage, error) {
	var list []computed
	named := paths{}
	var walk func(prefix []string, d value.Doc) error
	walk = func(prefix []string, d value.Doc) error {
		for it := d.Iter(); ; {
			k, v, ok := it.Next()
			if !ok {
				return nil
			}
			path := append([]string{}, prefix...)
			for _, p := range strings.Split(string(k), ".") {
				if p == "" || p[0] == '$' {
					return mongoerr.New(mongoerr.Kind{Code: 16410, Name: "Location16410"}, "field path %q is not allowed", k)
				}
				path = append(path, p)
			}
			if v.T == bson.TypeEmbeddedDocument && !v.Doc().Empty() && !isOperator(v) {
				if err := walk(path, v.Doc()); err != nil {
					return err
				}
				continue
			}
			if named.add(path) != nil {
				return mongoerr.New(mongoerr.Kind{Code: 40176, Name: "Location40176"}, "specification contains two conflicting paths: %s", strings.Join(path, "."))
			}
			x, err := expr.Compile(v)
			if err != nil {
				return err
			}
			list = append(list, computed{path, x})
		}
	}
	if err := walk(nil, d); err != nil {
		return nil, err
	}
	return func(d value.Doc, now int64) (value.Doc, error) {
		env := &expr.Env{Root: d, Now: now}
		for _, c := range list {
			v, err := c.x(env)
			if err != nil {
				return nil, err
			}
			d = Set(d, c.path, v)
		}
		return d, nil
	}, nil
}

// Set sets a value below a path; scalars on the way become documents, arrays are entered. A missing value removes the field.
func Set(d value.Doc, path []string, v value.Value) value.Doc {
	b := value.NewBuilder()
	found := false
	for it := d.Iter(); ; {
		k, e, ok := it.Next()
		if !ok {
			break
		}
		if string(k) == path[0] {
			found = true
			e = setBelow(e, path[1:], v)
		}
		b.Add(string(k), e)
	}
	if !found {
		b.Add(path[0], setBelow(value.Value{}, path[1:], v))
	}
	return b.Done()
}

func setBelow(e value.Value, rest []string, v value.Value) value.Value {
	if len(rest) == 0 {
		return v
	}
	switch e.T {
	case bson.TypeEmbeddedDocument:
		return value.OfDoc(Set(e.Doc(), rest, v))
	case bson.TypeArray:
		vs := e.Doc().Values()
		for i := range vs {
			vs[i] = setBelow(vs[i], rest, v)
		}
		return value.OfArray(vs)
	}
	if v.IsMissing() {
		return e
	}
	return value.OfDoc(Set(value.EmptyDoc, rest, v))
}
