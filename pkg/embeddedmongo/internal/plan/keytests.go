package plan

import (
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// keyTests are conditions that a plan's bounds do not express and that the fields of its index can tell, without documents.
type keyTests struct {
	p      *Plan
	rest   filter.And
	fields []field // What rest tests, in the order of the key.
	whole  bool    // Bounds and tests are the whole filter.
}

// field is a field of an index, and its value in the key at hand.
type field struct {
	at    int
	path  string
	value value.Value
	buf   []byte
}

// keyTests are those of the plan; nil when it has none. They belong to one reading.
func (p *Plan) keyTests(con *conjunction) *keyTests {
	if p.exact || p.ix.IsID() || con == nil {
		return nil
	}
	t := &keyTests{p: p, whole: true}
	told := map[string]bool{} // The paths that a key tells, and whether they are tested.
	multi := p.ix.Multikey()
	for i, f := range p.ix.Fields {
		if multi&(1<<i) == 0 && !hasPosition(f.Path) {
			told[f.Path] = false
		}
	}
	for _, n := range con.nodes {
		if p.expresses(n) {
			continue
		}
		paths, ok := filter.Tested(n)
		ok = ok && !slices.ContainsFunc(paths, func(path string) bool { _, ok := told[path]; return !ok })
		if !ok {
			t.whole = false
			continue
		}
		t.rest = append(t.rest, n)
		for _, path := range paths {
			told[path] = true
		}
	}
	if len(t.rest) == 0 {
		return nil
	}
	for i, f := range p.ix.Fields {
		if told[f.Path] {
			t.fields = append(t.fields, field{at: i, path: f.Path})
			told[f.Path] = false
		}
	}
	return t
}

// verdict is what a key tells of a document.
type verdict int

const (
	unknown verdict = iota // The key does not say: a field cannot be read back.
	fails
	holds
)

// judge tests a key.
func (t *keyTests) judge(key []byte) verdict {
	rest, at := storage.EntryFields(key), 0
	for i := range t.fields {
		f := &t.fields[i]
		for ; at < f.at; at++ {
			rest = rest[value.KeyLen(rest, t.p.ix.Fields[at].Desc):]
		}
		x, n, ok := value.ReadKey(rest, t.p.ix.Fields[at].Desc, f.buf)
		if !ok {
			return unknown
		}
		if f.value = x; x.B != nil {
			f.buf = x.B
		}
		rest, at = rest[n:], at+1
	}
	if filter.MatchValues(t.rest, t.valueAt) {
		return holds
	}
	return fails
}

func (t *keyTests) valueAt(path string) value.Value {
	for i := range t.fields {
		if t.fields[i].path == path {
			return t.fields[i].value
		}
	}
	return value.Value{}
}

// countMatching counts by the keys of an index whose fields are all that the filter tests. p is nil where there is none, or
// where chosen, the plan that would read documents, is by another index: then few are read.
func countMatching(c *storage.Collection, q Query, con *conjunction, chosen *Plan) (n int64, p *Plan, err error) {
	if !q.Hint.IsMissing() {
		return 0, nil, nil
	}
	for _, ix := range c.Indexes() {
		k := candidate(c, q, con, ix, false)
		if k == nil || k.dedupe || (ix != chosen.ix && !chosen.readsAll()) || (p != nil && k.score <= p.score) {
			continue
		}
		if t := k.keyTests(con); t != nil && t.whole {
			k.con, p = con, k
		}
	}
	if p == nil {
		return 0, nil, nil
	}
	n, err = p.countRows()
	return n, p, err
}
