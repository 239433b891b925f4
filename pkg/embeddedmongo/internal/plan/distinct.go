package plan

import (
	"bytes"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Distinct lists the distinct values at a path among the matches, in order. Arrays contribute their elements. how is
// DISTINCT_SCAN when an index allowed a skip scan.
func Distinct(c *storage.Collection, q Query, path string) (vs []value.Value, how string, p *Plan, err error) {
	parts := strings.Split(path, ".")
	found := map[string]value.Value{}
	collect := func(d value.Doc) {
		each(value.OfDoc(d), parts, func(v value.Value) {
			k := value.AppendKey(nil, v, false)
			if _, ok := found[string(k)]; !ok {
				found[string(k)] = v.Clone()
			}
		})
	}
	if p = skipping(c, q, path); p != nil {
		how, err = "DISTINCT_SCAN", p.jump(collect, found)
	} else {
		how = "FETCH"
		if p, err = New(c, q); err == nil {
			err = p.forEach(collect)
		}
	}
	if err != nil {
		return nil, "", nil, err
	}
	order := make([]string, 0, len(found))
	for k := range found {
		order = append(order, k)
	}
	slices.Sort(order)
	for _, k := range order {
		vs = append(vs, found[k])
	}
	return vs, how, p, nil
}

func (p *Plan) forEach(f func(value.Doc)) error {
	r, err := p.Run()
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		row, ok, err := r.Next()
		if err != nil || !ok {
			return err
		}
		f(row.Doc)
	}
}

// each calls f with the values at a path, through arrays, and with an array's elements instead of the array.
func each(v value.Value, parts []string, f func(value.Value)) {
	if len(parts) == 0 {
		if v.T == bson.TypeArray {
			for _, e := range v.Doc().Values() {
				f(e)
			}
		} else if !v.IsMissing() {
			f(v)
		}
		return
	}
	switch v.T {
	case bson.TypeEmbeddedDocument:
		each(v.Doc().Get(parts[0]), parts[1:], f)
	case bson.TypeArray:
		if i, ok := value.ParseIndex(parts[0]); ok {
			each(v.Doc().At(i), parts[1:], f)
		}
		for _, e := range v.Doc().Values() {
			if e.T == bson.TypeEmbeddedDocument {
				each(e, parts, f)
			}
		}
	}
}

// skipping finds an index whose leading fields are the filter's equalities and whose next field is the path.
func skipping(c *storage.Collection, q Query, path string) *Plan {
	con := conjoin(q.Filter)
	for _, ix := range c.Indexes() {
		if ix.IsID() {
			continue
		}
		p := candidate(c, q, con, ix, true)
		if p == nil || !p.exact || len(p.spans) != 1 {
			continue
		}
		n := 0
		for n < len(p.bounds) && p.bounds[n].equal {
			n++
		}
		// The path's own field may be bounded too: by a range.
		if n < len(ix.Fields) && ix.Fields[n].Path == path && len(p.bounds) <= n+1 && ix.Multikey()&(1<<n) == 0 {
			return p
		}
	}
	return nil
}

// jump is a skip scan: it reads one document for each distinct value of the field after the equalities. A null entry may stand
// for a missing field, so it reads null entries until a document has null.
func (p *Plan) jump(collect func(value.Doc), found map[string]value.Value) error {
	v, err := p.c.View()
	if err != nil {
		return err
	}
	defer v.Close()
	sp := p.spans[0]
	it, err := v.Iter(sp.lo, sp.hi)
	if err != nil {
		return err
	}
	n := 0
	for n < len(p.bounds) && p.bounds[n].equal {
		n++
	}
	desc := p.ix.Fields[n].Desc
	null := value.AppendKey(nil, value.Null, desc)
	nullKey := value.AppendKey(nil, value.Null, false)
	for ok := it.First(); ok; {
		key := it.Key()
		end := sp.at + value.KeyLen(key[sp.at:], desc)
		field := bytes.Clone(key[:end])
		d, err := v.Doc(storage.EntryID(key))
		if err != nil {
			return err
		}
		if d != nil {
			collect(d)
		}
		if _, has := found[string(nullKey)]; !has && bytes.Equal(field[sp.at:], null) {
			ok = it.Next()
			continue
		}
		next := successor(field)
		if next == nil {
			break
		}
		ok = it.SeekGE(next)
	}
	return storage.Error(it.Error())
}
