// Package project compiles projections: inclusions and exclusions, of find and of the stage $project.
package project

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Projection is a compiled projection.
type Projection struct {
	root      *tree
	include   bool
	id        bool
	Positions bool // The projection uses "path.$": Apply needs the array position of the match.
}

// tree is the shape of the paths of a projection.
type tree struct {
	kids map[string]*tree
	leaf bool
	// slice, elem and positional modify the array at a leaf.
	slice      []int64
	elem       *filter.Filter
	positional bool
}

// Options select the features of a projection.
type Options struct {
	Find bool // With $slice, $elemMatch and "path.$".
}

// Compile compiles a projection document.
//
//nolint:gocognit // One pass over the rules of projections, in the order of MongoDB's documentation.
func Compile(d value.Doc, o Options) (*Projection, error) {
	p := &Projection{root: &tree{}, id: true}
	named := paths{}
	mode := 0 // 1 inclusion, -1 exclusion.
	sliced := false
	set := func(m int, key string) error {
		if mode != 0 && mode != m {
			return mongoerr.New(mongoerr.Kind{Code: 31254, Name: "Location31254"}, "cannot mix inclusion and exclusion in a projection: %s", key)
		}
		mode = m
		return nil
	}
	var walk func(prefix []string, d value.Doc) error
	walk = func(prefix []string, d value.Doc) error {
		for it := d.Iter(); ; {
			k, v, ok := it.Next()
			if !ok {
				return nil
			}
			key := string(k)
			parts := strings.Split(key, ".")
			if positional := o.Find && parts[len(parts)-1] == "$"; positional {
				parts = parts[:len(parts)-1]
				path := append(slices.Clone(prefix), parts...)
				if err := named.add(path); err != nil {
					return err
				}
				t := p.root.at(path)
				t.leaf, t.positional, p.Positions = true, true, true
				if err := set(1, key); err != nil {
					return err
				}
				continue
			}
			for _, part := range parts {
				if part == "" || part[0] == '$' {
					return mongoerr.New(mongoerr.Kind{Code: 16410, Name: "Location16410"}, "projection path %q is not allowed", key)
				}
			}
			path := append(slices.Clone(prefix), parts...)
			if v.T != bson.TypeEmbeddedDocument || isOperator(v) {
				if err := named.add(path); err != nil {
					return err
				}
			}
			switch {
			case v.IsNumber() || v.T == bson.TypeBoolean:
				if len(path) == 1 && path[0] == "_id" {
					p.id = v.Truthy()
					if p.id && mode == 0 && d.Len() == 1 {
						mode = 1
					}
					continue
				}
				m := -1
				if v.Truthy() {
					m = 1
				}
				if err := set(m, key); err != nil {
					return err
				}
				p.root.at(path).leaf = true
			case v.T == bson.TypeEmbeddedDocument && !isOperator(v):
				if v.Doc().Empty() {
					return mongoerr.New(mongoerr.Kind{Code: 51270, Name: "Location51270"}, "an empty sub-projection is not a valid value")
				}
				if err := walk(path, v.Doc()); err != nil {
					return err
				}
			case o.Find && isArrayOperator(v):
				t := p.root.at(path)
				var err error
				if t.slice, t.elem, err = arrayOperator(v); err != nil {
					return err
				}
				if t.elem != nil {
					t.leaf = true
					if err := set(1, key); err != nil {
						return err
					}
				}
				sliced = true
			default:
				return mongoerr.NotImplemented("a computed field in a projection: %s: %s", key, value.Format(v))
			}
		}
	}
	if err := walk(nil, d); err != nil {
		return nil, err
	}
	// {_id: 0} alone, and a $slice alone, exclude nothing else.
	p.include = mode == 1
	if sliced && mode == 1 {
		p.root.keepSlices()
	}
	return p, nil
}

// keepSlices makes sliced paths part of an inclusion.
func (t *tree) keepSlices() {
	for _, k := range t.kids {
		if k.slice != nil {
			k.leaf = true
		}
		k.keepSlices()
	}
}

// at finds or makes the node of a path.
func (t *tree) at(path []string) *tree {
	for _, p := range path {
		k := t.kids[p]
		if k == nil {
			if t.kids == nil {
				t.kids = map[string]*tree{}
			}
			k = &tree{}
			t.kids[p] = k
		}
		t = k
	}
	return t
}

func isOperator(v value.Value) bool {
	k, _ := v.Doc().First()
	return strings.HasPrefix(k, "$")
}

// Apply projects one document; pos is the array position of the match, or -1.
func (p *Projection) Apply(d value.Doc, pos int) (value.Doc, error) {
	b := value.NewBuilder()
	if p.include {
		if p.id {
			b.Add("_id", d.Get("_id"))
		}
		if err := p.root.includeInto(b, d, true, pos); err != nil {
			return nil, err
		}
	} else {
		for it := d.Iter(); ; {
			k, v, ok := it.Next()
			if !ok {
				break
			}
			if string(k) == "_id" && !p.id {
				continue
			}
			b.Add(string(k), p.root.kids[string(k)].exclude(v))
		}
	}
	return b.Done(), nil
}

func (t *tree) includeInto(b *value.Builder, d value.Doc, top bool, pos int) error {
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			return nil
		}
		kid := t.kids[string(k)]
		if kid == nil || (top && string(k) == "_id" && kid.leaf) {
			continue
		}
		if kid.leaf {
			r, err := kid.array(v, pos)
			if err != nil {
				return err
			}
			b.Add(string(k), r)
			continue
		}
		r, err := kid.include(v, pos)
		if err != nil {
			return err
		}
		b.Add(string(k), r)
	}
}

// include projects a value below a path that goes on; scalars are dropped.
func (t *tree) include(v value.Value, pos int) (value.Value, error) {
	switch v.T {
	case bson.TypeEmbeddedDocument:
		b := value.NewBuilder()
		err := t.includeInto(b, v.Doc(), false, pos)
		return value.OfDoc(b.Done()), err
	case bson.TypeArray:
		var out []value.Value
		for _, e := range v.Doc().Values() {
			r, err := t.include(e, pos)
			if err != nil {
				return r, err
			}
			if !r.IsMissing() {
				out = append(out, r)
			}
		}
		return value.OfArray(out), nil
	}
	return value.Value{}, nil
}

// exclude drops what the tree names; a nil tree names nothing.
func (t *tree) exclude(v value.Value) value.Value {
	switch {
	case t == nil:
		return v
	case t.leaf:
		return value.Value{}
	case t.slice != nil:
		r, _ := t.array(v, -1)
		return r
	}
	switch v.T {
	case bson.TypeEmbeddedDocument:
		b := value.NewBuilder()
		for it := v.Doc().Iter(); ; {
			k, e, ok := it.Next()
			if !ok {
				return value.OfDoc(b.Done())
			}
			b.Add(string(k), t.kids[string(k)].exclude(e))
		}
	case bson.TypeArray:
		var out []value.Value
		for _, e := range v.Doc().Values() {
			if r := t.exclude(e); !r.IsMissing() {
				out = append(out, r)
			}
		}
		return value.OfArray(out)
	}
	return v
}
