// Package plan chooses an access path for a query and executes it.
//
//	filter ─▶ conjuncts by path ─▶ bounds for each index ─▶ best Plan ─▶ Rows: keys ─▶ (skip) ─▶ documents ─▶ filter ─▶ (sort)
package plan

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Query is one read of a collection. Limit 0 means no limit.
type Query struct {
	Filter *filter.Filter
	Sort   *index.Sort
	Skip   int64
	Limit  int64
	Hint   value.Value // An index's name or key pattern; missing for none.

	// most is the number of matches at which a count stops; 0 means none.
	most int64

	// memory bounds the bytes of the sets that the query keeps; 0 means sortMemory.
	memory int64

	// ReturnKey asks for the fields of the index entries instead of the documents.
	ReturnKey bool

	// IDs asks for the _id alone.
	IDs bool

	// Only is the one field, without dots, that the reader needs; empty means whole documents. Rows may have other fields too.
	Only string

	// Early means that the reader expects to stop after the first results although it sets no limit.
	Early bool

	// Expired returns an error once the command has exceeded its time limit. Readers call it periodically; nil means no limit.
	Expired func() error
}

// Plan is an access path: an index with its bounds, and the order in which it reads.
type Plan struct {
	c      *storage.Reader
	q      Query
	ix     *storage.Index
	bounds []*bound
	spans  []span

	reverse bool
	merge   bool // The spans are merged by the key suffix after their points; else they are read in sequence.
	sorted  bool // The index yields the order of the sort.
	exact   bool // The bounds express the whole filter, so documents need no check.
	dedupe  bool // A document may have several entries within the bounds.
	score   int

	also   []*Plan    // Plans whose keys are intersected with this one's by their common suffix.
	narrow *narrowing // A search that leaves out keys in the order of time.
	within *Plan      // Its keys are members: they filter those of this plan.
	con    *conjunction
	others []*Plan // Alternatives for a review when this plan reads too much.

	reached int // The number of keys that reach has counted, and one; 0 when it is not known.
}

// New plans a query.
func New(c *storage.Reader, q Query) (*Plan, error) {
	if q.Sort != nil && len(q.Sort.Fields) == 0 {
		q.Sort = nil
	}
	con := conjoin(q.Filter)
	if q.Hint.IsMissing() {
		var err error
		if con, err = con.withValues(c, q); err != nil {
			return nil, err
		}
	}
	return newPlan(c, q, con)
}

// newPlan plans a query by a conjunction of its filter.
func newPlan(c *storage.Reader, q Query, con *conjunction) (*Plan, error) {
	list := c.Indexes()
	hinted, err := hint(list, q.Hint)
	if err != nil {
		return nil, err
	}
	if hinted != nil {
		p := candidate(c, q, con, hinted, true)
		if p == nil { // MongoDB reads such an index, and its result lacks the documents that the index lacks.
			return nil, mongoerr.New(mongoerr.BadValue, "the filter does not imply that the hinted index %s has all matches", hinted.Spec.Name)
		}
		p.con = con
		return p, nil
	}
	// No plan beats the lookup of one document by its _id.
	if p := candidate(c, q, con, list[0], false); p.points() && len(p.spans) == 1 {
		return p, nil
	}
	var best *Plan
	var ties, all []*Plan
	for _, ix := range list {
		p := candidate(c, q, con, ix, false)
		if p != nil {
			all = append(all, p)
		}
		switch {
		case p == nil:
		case best == nil || p.better(best) > 0:
			best, ties = p, nil
		case p.better(best) == 0:
			ties = append(ties, p)
		}
	}
	switch {
	case q.Limit == 0 && !q.Early && (q.Sort == nil || !best.sorted):
		if best, err = best.orNarrower(all); err != nil {
			return nil, err
		}
	case len(ties) > 0:
		if best, err = narrowest(append([]*Plan{best}, ties...), con); err != nil {
			return nil, err
		}
	}
	if q.Only != "" && q.Sort == nil && q.Limit == 0 {
		covering, err := best.orCovering(con, q.Only)
		if err != nil {
			return nil, err
		}
		if covering != nil && !covering.dedupe {
			return covering, nil
		}
	}
	if q.IDs && best.ix.IsID() && best.points() {
		for _, p := range all {
			if p.exact && p.sorted && p.looksUp() {
				return p, nil // Keys decide the filter, and have the ids.
			}
		}
	}
	if best, err = best.orWhole(all, con); err != nil {
		return nil, err
	}
	if best, err = best.orScan(all, con); err != nil {
		return nil, err
	}
	if q.Limit > 0 && best.sorted {
		best = best.withCommon(con)
	}
	best.con = con
	for _, p := range all {
		if p.bindsBeyond(best) {
			best.others = append(best.others, p)
		}
	}
	return best, nil
}

// better compares two candidates. With a sort and a limit, a candidate that reads in sort order wins.
func (p *Plan) better(other *Plan) int {
	if p.q.Sort != nil && p.q.Limit > 0 && p.sorted != other.sorted {
		if p.sorted {
			return 1
		}
		return -1
	}
	return p.score - other.score
}

func hint(list []*storage.Index, h value.Value) (*storage.Index, error) {
	switch h.T {
	case value.Missing:
		return nil, nil
	case bson.TypeString:
		for _, ix := range list {
			if ix.Spec.Name == h.Str() {
				return ix, nil
			}
		}
	case bson.TypeEmbeddedDocument:
		if h.Doc().Empty() {
			return nil, nil
		}
		if k, v := h.Doc().First(); k == "$natural" {
			if n, _ := v.Int(); n == 1 {
				return list[0], nil
			}
			return nil, mongoerr.NotImplemented("hint {$natural: %s}", value.Format(v))
		}
		for _, ix := range list {
			if storage.DefaultIndexName(value.Doc(ix.Spec.Key)) == storage.DefaultIndexName(h.Doc()) {
				return ix, nil
			}
		}
	}
	return nil, mongoerr.New(mongoerr.BadValue, "error processing query: hint provided does not correspond to an existing index")
}

// candidate plans with one index; nil when the index cannot serve the query.
func candidate(c *storage.Reader, q Query, con *conjunction, ix *storage.Index, forced bool) *Plan {
	return candidateOf(c, q, con, ix, forced, maxSpans)
}

// candidateOf is candidate with a number of spans: bounds that need more are left out.
func candidateOf(c *storage.Reader, q Query, con *conjunction, ix *storage.Index, forced bool, most int) *Plan {
	if !usable(ix, con) {
		return nil
	}
	p := &Plan{c: c, q: q, ix: ix}
	multi := ix.Multikey()
	combos := 1
	var origin filter.Node
	bounded := false // A multikey field has a bound.
	for i, f := range ix.Fields {
		if hasPosition(f.Path) {
			break
		}
		flagged := multi&(1<<i) != 0
		preds := con.byPath[f.Path]
		if flagged && bounded {
			// Two fields of one array can both be bounded only by predicates of the same $elemMatch.
			if origin == nil {
				break
			}
			preds = sameOrigin(preds, origin)
		}
		b := con.boundFor(preds, f.Desc, flagged)
		if b == nil {
			break
		}
		if b.points != nil && combos*max(1, len(b.points)) > most {
			break
		}
		combos *= max(1, len(b.points))
		if flagged {
			bounded, origin = true, b.origin
		}
		p.bounds = append(p.bounds, b)
		if b.points == nil {
			break
		}
	}
	p.spans = spans(c.IndexPrefix(ix), p.bounds)
	for i := range ix.Fields {
		if multi&(1<<i) != 0 && (i >= len(p.bounds) || !p.bounds[i].equal) {
			p.dedupe = true
		}
	}
	p.exact = p.coversAll(con)
	p.order(multi)
	if !p.exact {
		p.narrow = con.narrowing(c)
	}
	p.rate(forced)
	if p.score <= 0 && !ix.IsID() && !forced {
		return nil
	}
	return p
}

func sameOrigin(preds []predicate, origin filter.Node) []predicate {
	var out []predicate
	for _, p := range preds {
		if p.origin == origin {
			out = append(out, p)
		}
	}
	return out
}

// coversAll reports whether every conjunct is expressed exactly.
func (p *Plan) coversAll(con *conjunction) bool {
	return !slices.ContainsFunc(con.nodes, func(n filter.Node) bool { return !p.expresses(n) })
}

// expresses reports whether a conjunct holds for exactly the keys that the plan reads: by a bound, by the condition of a partial
// index, or by an intersected plan.
func (p *Plan) expresses(n filter.Node) bool {
	l, ok := n.(*filter.Leaf)
	if !ok {
		return false
	}
	for _, b := range p.bounds {
		if b.exact && slices.Contains(b.used, l) {
			return true
		}
	}
	if p.ix.Partial != nil && slices.ContainsFunc(p.ix.Partial.Conjuncts(), func(n filter.Node) bool {
		have, ok := n.(*filter.Leaf)
		return ok && have.Path == l.Path && have.Op == l.Op &&
			(l.Op == filter.Exists || l.Op == filter.Eq && value.Compare(have.Value, l.Value) == 0)
	}) {
		return true
	}
	return slices.ContainsFunc(p.also, func(k *Plan) bool { return k.expresses(n) })
}

// rate scores the candidate: equalities count most, then lists, then a range. Reading in sort order counts more when a limit
// can stop the reading early.
func (p *Plan) rate(forced bool) {
	for _, b := range p.bounds {
		switch {
		case b.equal:
			p.score += 100
		case b.points != nil:
			p.score += 80
		case len(b.used) > 1:
			p.score += 40
		default:
			p.score += 30
		}
	}
	if len(p.bounds) == len(p.ix.Fields) && (p.ix.Spec.Unique || p.ix.IsID()) && p.points() {
		p.score += 1000
	}
	if p.q.Sort != nil && p.sorted {
		if p.score += 15; p.q.Limit > 0 {
			p.score += 35
		}
	}
	if p.exact && len(p.bounds) > 0 {
		p.score += 10
	}
	if p.skipsChunks() {
		p.score += 20
	}
	if p.ix.Partial != nil {
		p.score += 5 // It has fewer documents than an index of all.
	}
	if !forced && len(p.bounds) == 0 && p.q.Limit == 0 && !p.ix.IsID() {
		p.score = 0
	}
}

func (p *Plan) points() bool {
	for _, b := range p.bounds {
		if b.points == nil {
			return false
		}
	}
	return len(p.bounds) > 0
}

// order determines whether the plan reads in sort order: forward or backward, with its spans in sequence or merged.
func (p *Plan) order(multi uint32) {
	if p.q.Sort == nil {
		p.sorted = true
		return
	}
	for _, merge := range []bool{false, true} {
		if merge && len(p.spans) > maxMerge {
			return
		}
		for _, reverse := range []bool{false, true} {
			if p.ordered(multi, merge, reverse) {
				p.sorted, p.merge, p.reverse = true, merge && len(p.spans) > 1, reverse
				return
			}
		}
	}
}

// maxMerge bounds the iterators that are open at once.
const maxMerge = 200

func (p *Plan) ordered(multi uint32, merge, reverse bool) bool {
	j := 0
	fixed := func(j int) bool {
		return j < len(p.bounds) && p.bounds[j].points != nil && (merge || p.bounds[j].equal)
	}
	for _, s := range p.q.Sort.Fields {
		if p.constant(s, multi) {
			continue
		}
		for j < len(p.ix.Fields) && fixed(j) && p.ix.Fields[j].Path != s.Path {
			j++
		}
		if j == len(p.ix.Fields) {
			// Entries with equal fields are ordered by _id, which is unique, so later sort fields have no effect.
			return s.Path == "_id" && s.Desc == reverse && !p.ix.IsID()
		}
		f := p.ix.Fields[j]
		if f.Path != s.Path || hasPosition(f.Path) || (f.Desc != s.Desc) != reverse || multi&(1<<j) != 0 || (merge && fixed(j)) {
			return false
		}
		j++
		if p.ix.IsID() {
			return true
		}
	}
	return true
}

// constant reports whether all results have one value in a sort field.
func (p *Plan) constant(s index.Field, multi uint32) bool {
	for i, b := range p.bounds {
		if p.ix.Fields[i].Path == s.Path {
			return b.equal && multi&(1<<i) == 0
		}
	}
	return false
}
