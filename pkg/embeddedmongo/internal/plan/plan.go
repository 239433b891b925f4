// Package plan makes an access path for a query and executes it.
//
//	filter ─▶ conjuncts by path ─▶ bounds of an index ─▶ Plan ─▶ Rows: keys ─▶ tests of keys ─▶ documents ─▶ filter ─▶ (sort)
//
// The hint names the index. Without one it is that with the most points before all others, which Plan.better states. No plan depends on
// what the collection has.
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
	whole   bool // Bounds and tests of keys express the whole filter.
	exact   bool // The bounds express the whole filter, so documents need no check.
	dedupe  bool // A document may have several entries within the bounds.
	score   int

	con *conjunction
}

// New plans a query.
func New(c *storage.Reader, q Query) (*Plan, error) {
	if q.Sort != nil && len(q.Sort.Fields) == 0 {
		q.Sort = nil
	}
	list, con := c.Indexes(), conjoin(q.Filter)
	hinted, err := hint(list, q.Hint)
	if err != nil {
		return nil, err
	}
	if hinted != nil {
		p := candidate(c, q, con, hinted, true)
		if p == nil { // MongoDB reads such an index, and its result lacks the documents that the index lacks.
			return nil, mongoerr.New(mongoerr.BadValue, "the filter does not imply that the hinted index %s has all matches", hinted.Spec.Name)
		}
		return p, nil
	}
	best := candidate(c, q, con, list[0], false)
	if best.points() && len(best.spans) == 1 { // No plan beats the lookup of one document by its _id.
		return best, nil
	}
	for _, ix := range list[1:] {
		if p := candidate(c, q, con, ix, false); p != nil && p.better(best) {
			best = p
		}
	}
	return best, nil
}

// better compares two candidates by the first criterion in which they differ:
//
//  1. each point looks up at most one document,
//  2. more fields have bounds,
//  3. the keys decide the filter,
//  4. points fix more fields,
//  5. the index is partial, and so has fewer documents,
//  6. a limit can stop the scan in the order of the sort,
//  7. the score.
func (p *Plan) better(other *Plan) bool {
	for _, c := range []int{
		compare(p.looksUp(), other.looksUp()),
		len(p.bounds) - len(other.bounds),
		compare(p.whole, other.whole),
		p.fixed() - other.fixed(),
		compare(p.ix.Partial != nil, other.ix.Partial != nil),
		compare(p.stops(), other.stops()),
		p.score - other.score,
	} {
		if c != 0 {
			return c > 0
		}
	}
	return false
}

// compare orders false before true.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// stops reports whether a limit ends the reading early.
func (p *Plan) stops() bool { return p.q.Sort != nil && p.q.Limit > 0 && p.sorted }

// looksUp reports whether no two documents have keys in one of the plan's spans.
func (p *Plan) looksUp() bool {
	if !p.points() || p.ix.Multikey() != 0 {
		return false
	}
	fields := p.ix.Fields[:len(p.bounds)]
	return p.ix.IsID() || p.ix.Spec.Unique && len(fields) == len(p.ix.Fields) || names(fields, "_id")
}

// names reports whether a field has the path.
func names(fields []index.Field, path string) bool {
	return slices.ContainsFunc(fields, func(f index.Field) bool { return f.Path == path })
}

// fixed is the number of leading fields that points fix.
func (p *Plan) fixed() int {
	n := 0
	for n < len(p.bounds) && p.bounds[n].points != nil {
		n++
	}
	return n
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
			if ix.HasKeys(h.Doc()) {
				return ix, nil
			}
		}
	}
	return nil, mongoerr.New(mongoerr.BadValue, "error processing query: hint provided does not correspond to an existing index")
}

// candidate plans with one index; nil when the index cannot serve the query, or, unless it is forced, when it narrows nothing.
func candidate(c *storage.Reader, q Query, con *conjunction, ix *storage.Index, forced bool) *Plan {
	if !usable(ix, con) {
		return nil
	}
	p := &Plan{c: c, q: q, ix: ix, con: con}
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
		if b.points != nil && combos*max(1, len(b.points)) > maxSpans {
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

// expresses reports whether a conjunct holds for exactly the keys that the plan reads: by a bound, or by the condition of a partial
// index.
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
	return p.ix.Partial != nil && slices.ContainsFunc(p.ix.Partial.Conjuncts(), func(n filter.Node) bool {
		have, ok := n.(*filter.Leaf)
		return ok && have.Path == l.Path && have.Op == l.Op &&
			(l.Op == filter.Exists || l.Op == filter.Eq && value.Compare(have.Value, l.Value) == 0)
	})
}

// rate scores the candidate: equalities count most, then lists, then a range, then the order of the sort, then keys that decide the filter
// and have what the reader needs, and last the conditions that keys test.
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
	if p.q.Sort != nil && p.sorted {
		p.score += 15
	}
	p.whole = p.exact && len(p.bounds) > 0
	if !p.exact && !p.ix.IsID() {
		var tested filter.And
		tested, _, p.whole = p.testable()
		p.score += len(tested)
	}
	if p.whole {
		p.score += 10
		if p.q.Only != "" && p.position(p.q.Only) >= 0 {
			p.score += 5
		}
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
