package plan

import (
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// probeKeys bounds the keys that a comparison of equally scored candidates reads.
const probeKeys = 256

// estimatedAfter is the number of keys that an estimate reads between two checks of the time limit. Estimates of pages end before.
const estimatedAfter = 8192

// scanFloor is the collection size up to which an index is never replaced by a collection scan.
const scanFloor = 2000

// narrowest picks the candidate with the fewest keys, counted up to probeKeys. Of those with more, one whose keys have the text of a
// search comes first.
func narrowest(ps []*Plan, con *conjunction) (*Plan, error) {
	best, least := ps[0], probeKeys+1
	for _, p := range ps {
		n, err := p.reach(probeKeys)
		if err != nil {
			return nil, err
		}
		if n < least || n == least && !best.searches(con) && p.searches(con) {
			best, least = p, n
		}
	}
	return best, nil
}

// searches reports whether the keys decide a search for a text, so no document is read for the others.
func (p *Plan) searches(con *conjunction) bool {
	t := p.keyTests(con)
	return t != nil && slices.ContainsFunc(t.tested, func(n filter.Node) bool {
		l, ok := n.(*filter.Leaf)
		return ok && l.Op == filter.Regex
	})
}

// orNarrower picks the candidate with the fewest keys for a query that reads all of them. It counts the keys of all candidates up
// to a growing limit until one ends; counting costs little beside fetching documents. The last limit is an eighth of the collection,
// where orScan decides.
func (p *Plan) orNarrower(candidates []*Plan) (*Plan, error) {
	rivals := slices.DeleteFunc(slices.Clone(candidates), func(k *Plan) bool { return k == p || !k.bindsBeyond(p) })
	if len(rivals) == 0 || p.exact && p.points() && p.ix.Spec.Unique {
		return p, nil
	}
	most := int(p.c.Count() / 8)
	for limit := min(probeKeys, most); limit > 0; limit = min(8*limit, most) {
		best, least := p, limit
		for _, k := range append([]*Plan{p}, rivals...) {
			n, err := k.reach(least)
			if err != nil {
				return nil, err
			}
			if n < least {
				best, least = k, n
			}
		}
		if least < limit || limit == most {
			return best, nil
		}
	}
	return p, nil
}

// wholeKeys bounds the keys of a candidate that is read completely instead of reading in sort order, for each row of the page.
const wholeKeys = 20

// mostWhole bounds them for large pages, whose readers may stop early. A review reconsiders them.
const mostWhole = 20_000

// orWhole replaces a plan that reads in sort order by a selective one that needs a sort. Reading in sort order stops early when
// many documents match, but reads the whole collection when few do. A candidate that binds another field and has few keys bounds
// the cost. If intersected indexes decide the filter, the plan in sort order reads no document in vain. The other one must then have
// about as few documents as the page. Where the plan in sort order has to read few keys for the page, the selective one's keys filter
// them instead.
func (p *Plan) orWhole(candidates []*Plan, con *conjunction) (*Plan, error) {
	if p.q.Sort == nil || !p.sorted || p.exact || p.q.Limit == 0 {
		return p, nil
	}
	rows := p.q.Skip + p.q.Limit
	best, least := p, int(min(max(probeKeys, wholeKeys*rows), mostWhole))
	if p.withCommon(con).exact {
		least = int(min(int64(least), 2*rows))
	}
	for i, k := range candidates {
		if k == p || !k.bindsBeyond(p) || slices.ContainsFunc(candidates[:i], k.bindsAlike) {
			continue
		}
		n, err := k.reach(least)
		if err != nil {
			return nil, err
		}
		if n < least {
			best, least = k, n
		}
	}
	if best == p {
		return p, nil
	}
	// The plan in sort order wins if it has no more keys, as it needs no sort.
	if n, err := p.reach(least + 1); err != nil || n <= least {
		return p, err
	}
	if n := int64(least); p.costWithin(n, n, rows) < best.sortCost(con, n, n, rows) {
		in := *p
		in.within = best
		return &in, nil
	}
	return best, nil
}

// bindsBeyond reports whether the plan binds a field that another does not, or reads an index of fewer documents.
func (p *Plan) bindsBeyond(other *Plan) bool {
	if p.ix.Partial != nil && other.ix.Partial == nil {
		return true
	}
	for i := range p.bounds {
		path := p.ix.Fields[i].Path
		if !slices.ContainsFunc(other.ix.Fields[:len(other.bounds)], func(f index.Field) bool { return f.Path == path }) {
			return true
		}
	}
	return false
}

// bindsAlike reports whether another plan has as many keys: its index has the same documents, and the same bounds.
func (p *Plan) bindsAlike(other *Plan) bool {
	if len(p.bounds) != len(other.bounds) || p.ix.Partial != other.ix.Partial || p.ix.Spec.Sparse || other.ix.Spec.Sparse {
		return false
	}
	for i := range p.bounds {
		if p.ix.Fields[i].Path != other.ix.Fields[i].Path {
			return false
		}
	}
	return true
}

// reach counts the plan's keys up to a limit, without documents.
func (p *Plan) reach(limit int) (int, error) {
	if p.looksUp() {
		return min(len(p.spans), limit), nil // Some may not exist, but to know costs a seek each.
	}
	if !p.skipsChunks() {
		if n, ok, err := p.counted(); ok || err != nil {
			return int(min(n, int64(limit))), err
		}
	}
	if p.reached > 0 {
		return min(p.reached-1, limit), nil
	}
	n, _, err := p.survey(nil, limit)
	if err == nil && n < int64(limit) {
		p.reached = int(n) + 1
	}
	return int(n), err
}

// looksUp reports whether no two documents have keys in one of the plan's spans.
func (p *Plan) looksUp() bool {
	if !p.points() || p.ix.Multikey() != 0 {
		return false
	}
	fields := p.ix.Fields[:len(p.bounds)]
	return p.ix.IsID() || p.ix.Spec.Unique && len(fields) == len(p.ix.Fields) || names(fields, "_id")
}

// counted is the number of the plan's keys by a counter; ok is false where none is kept.
func (p *Plan) counted() (n int64, ok bool, err error) {
	prefixes, fields := p.prefixes()
	if prefixes == nil || p.ix.Multikey()>>fields != 0 {
		return 0, false, nil // A document has several keys, and counts once.
	}
	n, ok, err = p.counters(prefixes, fields)
	return n, ok, storage.Error(err)
}

// survey counts the plan's keys up to a limit, and those that pass the tests of a conjunction, which may be nil.
func (p *Plan) survey(con *conjunction, limit int) (n, matches int64, err error) {
	if limit <= 0 {
		return 0, 0, nil
	}
	v := p.c.View()
	defer v.Close()
	tests := p.keyTests(con)
	err = p.eachKeyOf(v, func(key []byte) bool {
		if tests == nil || tests.judge(key) != fails {
			matches++
		}
		n++
		return n < int64(limit)
	})
	return n, matches, err
}

// eachTested calls f with the keys that pass the tests of a conjunction, until it returns false.
func (p *Plan) eachTested(v *storage.View, con *conjunction, f func(key []byte) bool) error {
	tests := p.keyTests(con)
	return p.eachKeyOf(v, func(key []byte) bool { return tests != nil && tests.judge(key) == fails || f(key) })
}

// eachKeyOf calls f with the keys of the plan, in any order, until it returns false.
func (p *Plan) eachKeyOf(v *storage.View, f func(key []byte) bool) error {
	q := *p
	q.merge = false
	ks, err := q.open(v)
	if err != nil {
		return err
	}
	for n := 1; ks.next() && f(ks.key()); n++ {
		if n%estimatedAfter == 0 && p.q.Expired != nil {
			if err := p.q.Expired(); err != nil {
				return err
			}
		}
	}
	return storage.Error(ks.err())
}

// orScan prefers a collection scan, or the keys that decide a search, to an index range of more than an eighth of the collection. It
// applies only to plans that cannot stop early, and read documents.
func (p *Plan) orScan(candidates []*Plan, con *conjunction) (*Plan, error) {
	total := p.c.Count()
	if p.q.IDs && p.exact && p.sorted {
		return p, nil
	}
	if p.ix.IsID() || total < scanFloor || ((p.q.Limit > 0 || p.q.Early) && p.sorted) {
		return p, nil
	}
	n, err := p.reach(int(total / 8))
	if err != nil {
		return nil, err
	}
	if n < int(total/8) {
		return p, nil
	}
	for _, k := range candidates {
		if k.searches(con) && k.sorted {
			return k, nil
		}
	}
	return scan(p.c, p.q, con), nil
}

// scan is the plan that reads all documents.
func scan(c *storage.Reader, q Query, con *conjunction) *Plan {
	ix := c.Indexes()[0]
	p := &Plan{c: c, q: q, ix: ix, spans: spans(c.DocPrefix(), nil), exact: len(con.nodes) == 0}
	p.order(0)
	return p
}

// readsAll reports whether the plan reads all documents.
func (p *Plan) readsAll() bool { return p.ix.IsID() && len(p.bounds) == 0 }
