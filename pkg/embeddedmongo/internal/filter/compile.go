package filter

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Compile compiles a filter document. Operators outside the subset
// are NotImplemented errors that name them.
func Compile(d value.Doc) (*Filter, error) {
	root, err := compileDoc(d, 0)
	if err != nil {
		return nil, err
	}
	return &Filter{root: root}, nil
}

// maxDepth bounds the nesting of logical operators, so that a hostile filter cannot exhaust the stack.
const maxDepth = 100

func compileDoc(d value.Doc, depth int) (And, error) {
	if depth > maxDepth {
		return nil, mongoerr.New(mongoerr.BadValue, "the filter is nested deeper than %d", maxDepth)
	}
	var all And
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			return all, nil
		}
		key := string(k)
		var n And
		var err error
		if strings.HasPrefix(key, "$") {
			n, err = compileLogical(key, v, depth)
		} else {
			n, err = compileField(key, v, depth)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, n...)
	}
}

func compileLogical(op string, v value.Value, depth int) (And, error) {
	switch op {
	case "$and", "$or", "$nor":
		if v.T != bson.TypeArray || v.Doc().Empty() {
			return nil, mongoerr.New(mongoerr.BadValue, "%s must be a nonempty array", op)
		}
		var kids []Node
		for _, e := range v.Doc().Values() {
			if e.T != bson.TypeEmbeddedDocument {
				return nil, mongoerr.New(mongoerr.BadValue, "%s entries need to be full objects", op)
			}
			n, err := compileDoc(e.Doc(), depth+1)
			if err != nil {
				return nil, err
			}
			if op == "$and" {
				kids = append(kids, n...)
			} else {
				kids = append(kids, n)
			}
		}
		switch op {
		case "$and":
			return kids, nil
		case "$or":
			if len(kids) == 1 {
				return kids[0].(And), nil
			}
			return And{Or(kids)}, nil
		}
		return And{Nor(kids)}, nil
	case "$comment":
		return nil, nil
	}
	return nil, mongoerr.NotImplemented("query operator %s", op)
}

// compileField compiles {path: value} or {path: {$op: …}}.
func compileField(path string, v value.Value, depth int) (And, error) {
	switch v.T {
	case bson.TypeEmbeddedDocument:
		if k, _ := v.Doc().First(); strings.HasPrefix(k, "$") && !isDBRef(k) {
			return compileOperators(path, v.Doc(), depth)
		}
	case bson.TypeRegex:
		l, err := regexLeaf(path, v)
		return And{l}, err
	case bson.TypeUndefined:
		return nil, mongoerr.New(mongoerr.BadValue, "cannot compare to undefined")
	}
	return And{newLeaf(path, Eq, v)}, nil
}

func isDBRef(k string) bool { return k == "$ref" || k == "$id" || k == "$db" }

func newLeaf(path string, op Op, v value.Value) *Leaf {
	return &Leaf{Path: path, Op: op, Value: v, parts: strings.Split(path, ".")}
}

func compileOperators(path string, d value.Doc, depth int) (And, error) {
	if depth > maxDepth {
		return nil, mongoerr.New(mongoerr.BadValue, "the filter is nested deeper than %d", maxDepth)
	}
	var all And
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			return all, nil
		}
		var n Node
		var err error
		if string(k) == "$options" {
			if d.Get("$regex").IsMissing() {
				return nil, mongoerr.New(mongoerr.BadValue, "$options needs a $regex")
			}
			continue
		}
		if string(k) == "$regex" {
			n, err = regexOperator(path, v, d.Get("$options"))
		} else {
			n, err = compileOperator(path, string(k), v, depth)
		}
		if err != nil {
			return nil, err
		}
		if a, ok := n.(And); ok {
			all = append(all, a...)
		} else if n != nil {
			all = append(all, n)
		}
	}
}

func compileOperator(path, op string, v value.Value, depth int) (Node, error) {
	switch op {
	case "$eq":
		return newLeaf(path, Eq, v), nil
	case "$ne":
		if v.T == bson.TypeRegex {
			return nil, mongoerr.New(mongoerr.BadValue, "can't have regex as arg to $ne")
		}
		return Not{newLeaf(path, Eq, v)}, nil
	case "$gt", "$gte", "$lt", "$lte":
		if v.T == bson.TypeRegex {
			return nil, mongoerr.New(mongoerr.BadValue, "can't have RegEx as arg to predicate over field %q", path)
		}
		return newLeaf(path, map[string]Op{"$gt": Gt, "$gte": Gte, "$lt": Lt, "$lte": Lte}[op], v), nil
	case "$in":
		l, err := inLeaf(path, op, v)
		if err != nil {
			return nil, err
		}
		return l, nil
	case "$nin":
		l, err := inLeaf(path, op, v)
		return Not{l}, err
	case "$exists":
		l := newLeaf(path, Exists, value.Value{})
		if v.Truthy() {
			return l, nil
		}
		return Not{l}, nil
	case "$not":
		return compileNot(path, v, depth)
	case "$all":
		return compileAll(path, v, depth)
	case "$elemMatch":
		return compileElemMatch(path, v, depth)
	case "$size":
		return sizeLeaf(path, v)
	case "$type":
		return typeLeaf(path, v)
	case "$mod":
		return modLeaf(path, v)
	case "$comment":
		return nil, nil
	}
	return nil, mongoerr.NotImplemented("query operator %s", op)
}

func compileNot(path string, v value.Value, depth int) (Node, error) {
	switch v.T {
	case bson.TypeRegex:
		l, err := regexLeaf(path, v)
		return Not{l}, err
	case bson.TypeEmbeddedDocument:
		if k, _ := v.Doc().First(); strings.HasPrefix(k, "$") {
			n, err := compileOperators(path, v.Doc(), depth+1)
			return Not{n}, err
		}
	}
	return nil, mongoerr.New(mongoerr.BadValue, "$not needs a regex or a document with operators")
}

func compileAll(path string, v value.Value, depth int) (Node, error) {
	if v.T != bson.TypeArray {
		return nil, mongoerr.New(mongoerr.BadValue, "$all needs an array")
	}
	vs := v.Doc().Values()
	if len(vs) == 0 {
		return Or{}, nil // Nothing matches an empty $all.
	}
	var all And
	for _, e := range vs {
		if e.T == bson.TypeEmbeddedDocument {
			if k, sub := e.Doc().First(); k == "$elemMatch" {
				n, err := compileElemMatch(path, sub, depth)
				if err != nil {
					return nil, err
				}
				all = append(all, n)
				continue
			} else if strings.HasPrefix(k, "$") && !isDBRef(k) {
				return nil, mongoerr.New(mongoerr.BadValue, "no $ expressions in $all")
			}
		}
		n, err := compileField(path, e, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, n...)
	}
	return all, nil
}

func compileElemMatch(path string, v value.Value, depth int) (Node, error) {
	if v.T != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.BadValue, "$elemMatch needs an Object")
	}
	l := newLeaf(path, ElemMatchDoc, value.Value{})
	k, _ := v.Doc().First()
	if strings.HasPrefix(k, "$") && k != "$and" && k != "$or" && k != "$nor" && k != "$expr" && k != "$comment" && !isDBRef(k) {
		l.Op = ElemMatchValue
		n, err := compileOperators("", v.Doc(), depth+1)
		l.Sub = n
		return l, err
	}
	n, err := compileDoc(v.Doc(), depth+1)
	l.Sub = n
	return l, err
}
