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
	of *Plan // Its keys, together with the bounds of by, decide the filter.
	n  int   // Of the keys of of.
	// absent says that the documents of of do not match. Those that pass the tests, if there are any.
	absent bool
	tests  *keyTests
	by     *Plan // Its keys are in the order of the path.
	at     int   // The position of the path in the keys of by.
}

// newKeyJoin plans the join; nil when documents cost less, or no two indexes have all that it needs. rows is the number of values that
// are wanted; 0 means all.
func newKeyJoin(c *storage.Collection, q Query, con *conjunction, path string, rows int64) (*keyJoin, error) {
	by := grouping(c, q, con, path)
	if by == nil || len(by.spans) != 1 || by.ix.Multikey() != 0 {
		return nil, nil
	}
	var best *keyJoin
	limit := maxMembers
	for _, ix := range c.Indexes() {
		of := candidate(c, q, con, ix, true)
		if of == nil || len(of.bounds) == 0 || ix == by.ix || ix.IsID() || !of.decides(con, by) {
			continue
		}
		n, err := of.reach(limit)
		if err != nil {
			return nil, err
		}
		if n < limit {
			best, limit = &keyJoin{of: of, n: n, by: by, at: by.position(path)}, n
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
func newAbsentJoin(c *storage.Collection, q Query, con *conjunction, path string) (*keyJoin, error) {
	for i, n := range con.nodes {
		absent, ok := n.(*filter.Leaf)
		if !ok || absent.Op != filter.Eq || !absent.Value.IsNullish() {
			continue
		}
		others := slices.Delete(slices.Clone(con.nodes), i, i+1)
		by := grouping(c, q, conjunctionOf(others), path)
		if by == nil || !by.exact || len(by.spans) != 1 || by.ix.Multikey() != 0 {
			continue
		}
		present := filter.And{absent.Present(), filter.Not{Node: absent}}
		for _, ix := range c.Indexes() {
			if ix.Partial == nil || ix.Multikey() != 0 || !names(ix.Fields, absent.Path) {
				continue
			}
			of := candidate(c, q, conjunctionOf(append(slices.Clone(others), present...)), ix, true)
			if of == nil {
				continue
			}
			tests := of.keyTests(conjunctionOf(present))
			if !of.exact && (tests == nil || !tests.whole) {
				continue
			}
			n, err := of.reach(maxMembers)
			if err != nil {
				return nil, err
			}
			if n < maxMembers && int64(n)*(1+memberCost)+joinedCost*c.Count() < scanCost*c.Count() {
				return &keyJoin{of: of, n: n, absent: true, tests: tests, by: by, at: by.position(path)}, nil
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
	v, err := j.by.c.View()
	if err != nil {
		return false, err
	}
	defer v.Close()
	ids := newIDSet(j.n)
	decided := true
	if err := j.of.eachKeyOf(v, func(key []byte) bool {
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
	span := j.by.spans[0]
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
			begin, end := j.by.fieldAt(key, j.at)
			if !set.addKey(ascending(key[begin:end], j.by.ix.Fields[j.at].Desc)) {
				return false, nil
			}
			last, passed = append(last[:0], key[:end]...), 0
		}
		ok = it.Next()
	}
	return true, storage.Error(it.Error())
}
