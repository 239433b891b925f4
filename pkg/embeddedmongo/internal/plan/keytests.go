package plan

import (
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// keyTests are conditions that the plan's bounds do not express but that the key fields decide, without reading documents.
type keyTests struct {
	p      *Plan
	tested filter.And
	rest   filter.And // The conditions of tested on decoded values.
	fields []field    // The fields of the tests, in the order of the key.
	whole  bool       // Bounds and tests express the whole filter.
}

// field is an index field with its tests, and its value in the current key.
type field struct {
	at     int
	path   string
	tests  []encodedTest // They decide before any value is decoded.
	decode bool
	value  value.Value
	buf    []byte
}

// testable returns the conditions that no bound expresses and the key fields decide, and the paths of the keys: true for those with a condition.
// whole reports whether bounds and these conditions express the whole filter.
func (p *Plan) testable() (tested filter.And, paths map[string]bool, whole bool) {
	whole, paths = true, map[string]bool{"_id": false} // Each key ends with the _id.
	multi := p.ix.Multikey()
	for i, f := range p.ix.Fields {
		if multi&(1<<i) == 0 && !hasPosition(f.Path) {
			paths[f.Path] = false
		}
	}
	for _, n := range p.con.nodes {
		if p.expresses(n) {
			continue
		}
		fields, ok := filter.Tested(n)
		ok = ok && !slices.ContainsFunc(fields, func(path string) bool { _, ok := paths[path]; return !ok })
		if !ok {
			whole = false
			continue
		}
		tested = append(tested, n)
		for _, path := range fields {
			paths[path] = true
		}
	}
	return tested, paths, whole
}

// keyTests builds the tests of the plan for one execution; nil when it has none.
func (p *Plan) keyTests() *keyTests {
	if p.exact || p.ix.IsID() {
		return nil
	}
	tested, paths, whole := p.testable()
	if len(tested) == 0 {
		return nil
	}
	t := &keyTests{p: p, tested: tested, whole: whole}
	for i, f := range p.ix.Fields {
		if paths[f.Path] {
			t.fields = append(t.fields, field{at: i, path: f.Path})
			paths[f.Path] = false
		}
	}
	if paths["_id"] {
		t.fields = append(t.fields, field{at: len(p.ix.Fields), path: "_id"})
	}
	for _, n := range t.tested {
		t.add(n)
	}
	return t
}

// add adds a condition: as a test of the encoded field if it has one, else of the decoded values.
func (t *keyTests) add(n filter.Node) {
	paths, _ := filter.Tested(n)
	for i := range t.fields {
		f := &t.fields[i]
		if !slices.Contains(paths, f.path) {
			continue
		}
		if test := testOf(n, t.p.descAt(f.at)); test != nil {
			f.tests = append(f.tests, test)
			return
		}
		f.decode = true
	}
	t.rest = append(t.rest, n)
}

// descAt reports whether a field of the keys is descending. The _id behind the last field is not.
func (p *Plan) descAt(at int) bool { return at < len(p.ix.Fields) && p.ix.Fields[at].Desc }

// verdict is the result of testing a key instead of its document.
type verdict int

const (
	unknown verdict = iota // A field of the key has a type that it does not decide.
	fails
	holds
)

// judge tests a key.
func (t *keyTests) judge(key []byte) verdict {
	rest, at, known := storage.EntryFields(key), 0, true
	for i := range t.fields {
		f := &t.fields[i]
		for ; at < f.at; at++ {
			rest = rest[value.KeyLen(rest, t.p.ix.Fields[at].Desc):]
		}
		if at == len(t.p.ix.Fields) {
			rest = storage.EntryID(key)
		}
		desc := t.p.descAt(at)
		n := value.KeyLen(rest, desc)
		for _, test := range f.tests {
			switch test(rest[:n]) {
			case fails:
				return fails
			case unknown:
				known = false
			case holds:
			}
		}
		if f.decode {
			x, _, ok := value.ReadKey(rest, desc, f.buf)
			known = known && ok
			if f.value = x; x.B != nil {
				f.buf = x.B
			}
		}
		rest, at = rest[n:], at+1
	}
	if !known {
		return unknown
	}
	return verdictOf(filter.MatchValues(t.rest, t.valueAt))
}

func (t *keyTests) valueAt(path string) value.Value {
	for i := range t.fields {
		if t.fields[i].path == path {
			return t.fields[i].value
		}
	}
	return value.Value{}
}
