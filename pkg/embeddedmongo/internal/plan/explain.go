package plan

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Explanation describes a plan as MongoDB does, and the work of its execution.
type Explanation struct {
	Plan                 value.Doc
	Returned, Keys, Docs int64
}

// Explain plans a query and, with run, executes it to count keys and documents. c may be nil.
func Explain(c *storage.Reader, q Query, run bool) (x Explanation, err error) {
	if c == nil {
		return nowhere(), nil
	}
	p, err := New(c, q)
	if err != nil {
		return x, err
	}
	x.Plan = p.describe("")
	if !run {
		return x, nil
	}
	r, err := p.Run()
	if err != nil {
		return x, err
	}
	defer r.Close()
	for {
		_, ok, err := r.Next()
		if err != nil || !ok {
			x.Keys, x.Docs = r.Keys, r.Docs
			if p.ix.IsID() {
				x.Keys = 0
				if len(p.bounds) > 0 {
					x.Keys = r.Keys
				}
			}
			return x, err
		}
		x.Returned++
	}
}

// ExplainCount explains a count.
func ExplainCount(c *storage.Reader, q Query, run bool) (x Explanation, err error) {
	if c == nil {
		return nowhere(), nil
	}
	n, how, p, err := Count(c, q)
	if err != nil {
		return x, err
	}
	if p == nil {
		x.Plan = stage(how).Done()
	} else {
		x.Plan = p.describe(how)
	}
	if run {
		if x.Returned = n; how == "COUNT_SCAN" {
			x.Keys = n
		}
	}
	return x, nil
}

// ExplainDistinct explains a distinct.
func ExplainDistinct(c *storage.Reader, q Query, path string, run bool) (x Explanation, err error) {
	if c == nil {
		return nowhere(), nil
	}
	vs, how, p, err := Distinct(c, q, path)
	if err != nil {
		return x, err
	}
	if x.Plan = p.describe(how); run {
		x.Returned = int64(len(vs))
	}
	return x, nil
}

// ExplainGroups explains groups by a path; ok is false when no index has the values.
func ExplainGroups(c *storage.Reader, q Query, path string, limit int64) (x Explanation, ok bool, err error) {
	if c == nil {
		return nowhere(), true, nil
	}
	vs, how, p, err := Groups(c, q, path, limit)
	if p == nil || err != nil {
		return x, false, err
	}
	return Explanation{Plan: p.describe(how), Returned: int64(len(vs))}, true, nil
}

func stage(name string) *value.Builder {
	return value.NewBuilder().Add("stage", value.OfString(name))
}

func nowhere() Explanation { return Explanation{Plan: stage("EOF").Done()} }

// describe renders the plan as MongoDB's tree of stages, outermost first. how names the innermost stage when the plan reads no
// documents.
func (p *Plan) describe(how string) value.Doc {
	if how == "FETCH" {
		how = ""
	}
	in := p.describeScan(how)
	wrap := func(name string, f func(*value.Builder)) {
		b := stage(name)
		if f != nil {
			f(b)
		}
		in = b.Add("inputStage", value.OfDoc(in)).Done()
	}
	skipFirst := p.sorted && p.exact && p.q.Skip > 0
	skip := func(b *value.Builder) { b.Add("skipAmount", value.OfInt(p.q.Skip)) }
	if how != "" {
		return in
	}
	if skipFirst {
		wrap("SKIP", skip) // Skipped keys are never fetched.
	}
	if !p.ix.IsID() {
		wrap("FETCH", nil)
	}
	if !p.sorted {
		wrap("SORT", func(b *value.Builder) { b.Add("sortPattern", value.OfDoc(p.sortPattern())) })
	}
	if p.q.Skip > 0 && !skipFirst {
		wrap("SKIP", skip)
	}
	if p.q.Limit > 0 {
		wrap("LIMIT", func(b *value.Builder) { b.Add("limitAmount", value.OfInt(p.q.Limit)) })
	}
	return in
}

func (p *Plan) describeScan(how string) value.Doc {
	name := how
	switch {
	case name != "":
	case p.ix.IsID() && len(p.bounds) == 0:
		name = "COLLSCAN"
	case p.ix.IsID() && len(p.spans) == 1 && p.bounds[0].equal:
		name = "IDHACK"
	default:
		name = "IXSCAN"
	}
	b := stage(name)
	direction := "forward"
	if p.reverse {
		direction = "backward"
	}
	b.Add("direction", value.OfString(direction)).Add("filterOnDocuments", value.OfBool(!p.exact))
	if name == "COLLSCAN" {
		return b.Done()
	}
	b.Add("indexName", value.OfString(p.ix.Spec.Name)).Add("keyPattern", value.OfDoc(value.Doc(p.ix.Spec.Key))).
		Add("isMultiKey", value.OfBool(p.ix.Multikey() != 0)).Add("isUnique", value.OfBool(p.ix.Spec.Unique || p.ix.IsID())).
		Add("isSparse", value.OfBool(p.ix.Spec.Sparse)).Add("isPartial", value.OfBool(p.ix.Partial != nil))
	b.Open("indexBounds", bson.TypeEmbeddedDocument)
	for i, bd := range p.bounds {
		kind := "range"
		if bd.equal {
			kind = "point"
		} else if bd.points != nil {
			kind = "points"
		}
		b.Add(p.ix.Fields[i].Path, value.OfString(kind))
	}
	b.Close()
	return b.Int32("spans", int32(len(p.spans))).Add("merged", value.OfBool(p.merge)).Done()
}

func (p *Plan) sortPattern() value.Doc {
	b := value.NewBuilder()
	for _, f := range p.q.Sort.Fields {
		dir := int32(1)
		if f.Desc {
			dir = -1
		}
		b.Int32(f.Path, dir)
	}
	return b.Done()
}
