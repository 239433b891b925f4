package plan

import (
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// matcher tells by an index's keys whether documents meet the conditions that the bounds do not express.
type matcher struct {
	p      *Plan
	rest   filter.And
	fields []field // What rest tests, in the order of the key.
}

// field is a field of an index, and its value in the key at hand.
type field struct {
	at    int
	path  string
	value value.Value
	buf   []byte
}

// countMatching counts by the keys of an index whose fields are all that the filter tests. p is nil where there is none, or
// where chosen, the plan that would read documents, is by another index: then few are read.
func countMatching(c *storage.Collection, q Query, con *conjunction, chosen *Plan) (n int64, p *Plan, err error) {
	if !q.Hint.IsMissing() {
		return 0, nil, nil
	}
	var m *matcher
	for _, ix := range c.Indexes() {
		if ix.IsID() {
			continue
		}
		p := candidate(c, q, con, ix, false)
		if p == nil || p.dedupe || (ix != chosen.ix && !chosen.readsAll()) || (m != nil && p.score <= m.p.score) {
			continue
		}
		if k := matcherFor(p, con); k != nil {
			m = k
		}
	}
	if m == nil {
		return 0, nil, nil
	}
	n, err = m.count()
	return n, m.p, err
}

func matcherFor(p *Plan, con *conjunction) *matcher {
	m := &matcher{p: p}
	tested := map[string]bool{}
	for _, n := range con.nodes {
		if p.expresses(n) {
			continue
		}
		paths, ok := filter.Tested(n)
		if !ok {
			return nil
		}
		m.rest = append(m.rest, n)
		for _, path := range paths {
			tested[path] = true
		}
	}
	multi := p.ix.Multikey()
	for i, f := range p.ix.Fields {
		if tested[f.Path] && multi&(1<<i) == 0 && !hasPosition(f.Path) {
			m.fields = append(m.fields, field{at: i, path: f.Path})
			delete(tested, f.Path)
		}
	}
	if len(tested) > 0 {
		return nil
	}
	return m
}

// expresses reports whether a bound stands for a conjunct exactly.
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
	return false
}

func (m *matcher) count() (n int64, err error) {
	v, err := m.p.c.View()
	if err != nil {
		return 0, err
	}
	defer v.Close()
	ks, err := m.p.open(v)
	if err != nil {
		return 0, err
	}
	for keys := 1; ks.next(); keys++ {
		if keys%expiredAfter == 0 && m.p.q.Expired != nil {
			if err := m.p.q.Expired(); err != nil {
				return 0, err
			}
		}
		ok, err := m.matches(v, ks.key())
		if err != nil {
			return 0, err
		}
		if ok {
			n++
		}
	}
	return n, storage.Error(ks.err())
}

// matches reads the fields out of a key; where one cannot be read back, it asks the document.
func (m *matcher) matches(v *storage.View, key []byte) (bool, error) {
	rest, at := storage.EntryFields(key), 0
	for i := range m.fields {
		f := &m.fields[i]
		for ; at < f.at; at++ {
			rest = rest[value.KeyLen(rest, m.p.ix.Fields[at].Desc):]
		}
		x, n, ok := value.ReadKey(rest, m.p.ix.Fields[at].Desc, f.buf)
		if !ok {
			d, err := v.Doc(storage.EntryID(key))
			if d == nil || err != nil {
				return false, err
			}
			return m.p.q.Filter.Match(d)
		}
		if f.value = x; x.B != nil {
			f.buf = x.B
		}
		rest, at = rest[n:], at+1
	}
	return filter.MatchValues(m.rest, m.valueAt), nil
}

func (m *matcher) valueAt(path string) value.Value {
	for i := range m.fields {
		if m.fields[i].path == path {
			return m.fields[i].value
		}
	}
	return value.Value{}
}
