package plan

import (
	"bytes"
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// keyJoin lists the values of a path from the keys of two indexes: one decides the filter, the other one has the values. Their keys
// meet in the _id, so no document is read:
//
//	tags = "nightly"  │ a   c   g         the matches, in memory
//	flow_run_id = 1   │ a  ▲b
//	flow_run_id = 2   │ c  ▲d  e  f      the first match decides a value; a seek skips its other keys
//	flow_run_id = 3   │ g  ▲
//
// A condition that a field is absent has no keys in an index of the documents with the field. Then the ids are those that do not match.
type keyJoin struct {
	filter *Plan     // Its keys give the ids. Together with the bounds of groups they decide the filter of the query.
	tests  *keyTests // Of the keys of filter; nil when all of them give ids.
	n      int       // The number of keys of filter.
	absent bool      // The documents with the ids do not match.
	groups *Plan     // Its keys are in the order of the path.
	at     int       // The position of the path in the keys of groups.
}

// newKeyJoin plans the join; nil when documents cost less, or no two indexes have all that it needs. rows is the number of values that
// are wanted; 0 means all.
func newKeyJoin(c *storage.Reader, q Query, con *conjunction, path string, rows int64) (*keyJoin, error) {
	groups := grouping(c, q, con, path)
	if groups == nil || len(groups.spans) != 1 || groups.ix.Multikey() != 0 {
		return nil, nil
	}
	var best *keyJoin
	limit := maxMembers
	for _, ix := range c.Indexes() {
		p := candidate(c, q, con, ix, true)
		if p == nil || len(p.bounds) == 0 || ix == groups.ix || ix.IsID() || !p.decides(con, groups) {
			continue
		}
		n, err := p.reach(limit)
		if err != nil {
			return nil, err
		}
		if n < limit {
			best, limit = &keyJoin{filter: p, n: n, groups: groups, at: groups.position(path)}, n
		}
	}
	if best == nil {
		return nil, nil
	}
	docs := int64(best.n)
	if rows > 0 {
		docs = min(docs, 2*rows)
	}
	if docs *= docCostIn(c.Count()); int64(best.n)*(1+memberCost)+joinedCost*c.Count() > docs {
		return nil, nil
	}
	return best, nil
}

// newAbsentJoin plans the join for a condition that a field is absent, by a partial index of the documents with the field; nil when there
// is none, or it costs more than a scan.
func newAbsentJoin(c *storage.Reader, q Query, con *conjunction, path string) (*keyJoin, error) {
	for i, n := range con.nodes {
		absent, ok := n.(*filter.Leaf)
		if !ok || absent.Op != filter.Eq || !absent.Value.IsNullish() {
			continue
		}
		others := slices.Delete(slices.Clone(con.nodes), i, i+1)
		groups := grouping(c, q, conjunctionOf(others), path)
		if groups == nil || !groups.exact || len(groups.spans) != 1 || groups.ix.Multikey() != 0 {
			continue
		}
		present := filter.And{absent.Present(), filter.Not{Node: absent}}
		for _, ix := range c.Indexes() {
			if ix.Partial == nil || ix.Multikey() != 0 || !names(ix.Fields, absent.Path) {
				continue
			}
			p := candidate(c, q, conjunctionOf(append(slices.Clone(others), present...)), ix, true)
			if p == nil {
				continue
			}
			tests := p.keyTests(conjunctionOf(present))
			if !p.exact && (tests == nil || !tests.whole) {
				continue
			}
			n, err := p.reach(maxMembers)
			if err != nil {
				return nil, err
			}
			if n < maxMembers && int64(n)*(1+memberCost)+joinedCost*c.Count() < scanCost*c.Count() {
				return &keyJoin{filter: p, tests: tests, n: n, absent: true, groups: groups, at: groups.position(path)}, nil
			}
		}
	}
	return nil, nil
}

// joinedCost is the cost of a key whose _id is looked up in memory, in units of reading one key.
const joinedCost = 2

// decides reports whether the bounds of this plan or another one express each condition.
func (p *Plan) decides(con *conjunction, other *Plan) bool {
	for _, n := range con.nodes {
		if !p.expresses(n) && !other.expresses(n) {
			return false
		}
	}
	return true
}

// run adds the values. done is false when a key does not have the type of its value, or cannot be tested.
func (j *keyJoin) run(set *distinctValues) (done bool, err error) {
	v := j.groups.c.View()
	defer v.Close()
	ids := newIDSet(j.n)
	decided := true
	if err := j.filter.eachKeyOf(v, func(key []byte) bool {
		matches := holds
		if j.tests != nil {
			matches = j.tests.judge(key)
		}
		if matches == holds {
			ids.add(storage.EntryID(key))
		}
		decided = matches != unknown
		return decided
	}); err != nil || !decided {
		return false, err
	}
	span := j.groups.spans[0]
	it, err := v.Iter(span.lo, span.hi)
	if err != nil {
		return false, err
	}
	var last []byte // The key up to the last value, which is found.
	passed := 0
	for ok := it.SeekGE(span.lo); ok && !set.full(); {
		if err := set.tick(); err != nil {
			return false, err
		}
		key := it.Key()
		switch {
		case last != nil && bytes.HasPrefix(key, last):
			if passed++; passed == nearKeys {
				ok = it.SeekGE(successor(last))
				continue
			}
		case ids.has(storage.EntryID(key)) != j.absent:
			begin, end := j.groups.fieldAt(key, j.at)
			if !set.addKey(ascending(key[begin:end], j.groups.ix.Fields[j.at].Desc)) {
				return false, nil
			}
			last, passed = append(last[:0], key[:end]...), 0
		}
		ok = it.Next()
	}
	return true, storage.Error(it.Error())
}
