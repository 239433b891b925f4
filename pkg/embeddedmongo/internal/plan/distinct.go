package plan

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Distinct lists the distinct values at a path among the matches, in order. Arrays contribute their elements. how names the
// method:
//
//	DISTINCT_SCAN  a skip scan: one index key for each value
//	KEYS           index keys, read
//	FETCH          documents
func Distinct(c *storage.Reader, q Query, path string) (vs []value.Value, how string, p *Plan, err error) {
	set := newDistinctValues(q, path)
	if how, p, err = set.readKeys(c, q, path); p != nil || err != nil {
		return set.sorted(), how, p, err
	}
	if p, err = New(c, q); err == nil {
		err = p.forEach(func(d value.Doc) error {
			set.addFrom(d)
			return set.checkMemory()
		})
	}
	return set.sorted(), "FETCH", p, err
}

// Groups lists the values by which documents are grouped by a path, in order: missing is null, and arrays are values. It stops at a
// limit; 0 means none. p is nil when no index has the values.
func Groups(c *storage.Reader, q Query, path string, limit int64) (vs []value.Value, how string, p *Plan, err error) {
	set := newDistinctValues(q, path)
	set.grouped, set.limit = true, limit
	how, p, err = set.readKeys(c, q, path)
	return set.sorted(), how, p, err
}

// readKeys adds the values that the keys of an index have; p is nil when no index has them.
func (s *distinctValues) readKeys(c *storage.Reader, q Query, path string) (how string, p *Plan, err error) {
	con, list := conjoin(q.Filter), c.Indexes()
	hinted, err := hint(list, q.Hint)
	if err != nil {
		return "", nil, err
	}
	if hinted != nil {
		list = []*storage.Index{hinted}
	}
	if p = skipping(c, q, con, path, list); p != nil {
		return "DISTINCT_SCAN", p, p.jump(path, s)
	}
	q.Only = path
	if p, err = New(c, q); err != nil {
		return "", nil, err
	}
	if p.ix.IsID() || p.position(path) < 0 || !p.decidedByKeys() {
		return "", nil, nil
	}
	return "KEYS", p, p.eachKey(path, s)
}

// decidedByKeys reports whether bounds and tests of keys express the whole filter.
func (p *Plan) decidedByKeys() bool {
	if p.exact {
		return true
	}
	tests := p.keyTests()
	return tests != nil && tests.whole
}

// distinctValues are values by their encoding.
type distinctValues struct {
	parts   []string
	found   map[string]value.Value
	size    int64 // Of found, in bytes.
	q       Query
	grouped bool  // Missing is null.
	limit   int64 // Of the values; 0 means none.
	reads   int
	key     []byte
}

func newDistinctValues(q Query, path string) *distinctValues {
	return &distinctValues{parts: strings.Split(path, "."), found: map[string]value.Value{}, q: q}
}

// full reports whether the limit is reached.
func (s *distinctValues) full() bool { return s.limit > 0 && int64(len(s.found)) >= s.limit }

func (s *distinctValues) sorted() []value.Value {
	vs := make([]value.Value, 0, len(s.found))
	for _, k := range slices.Sorted(maps.Keys(s.found)) {
		vs = append(vs, s.found[k])
	}
	return vs
}

// addFrom adds the values of a document.
func (s *distinctValues) addFrom(d value.Doc) { each(value.OfDoc(d), s.parts, s.add) }

func (s *distinctValues) add(v value.Value) {
	s.key = value.AppendKey(s.key[:0], v, false)
	if _, ok := s.found[string(s.key)]; !ok {
		s.put(s.key, v)
	}
}

func (s *distinctValues) put(key []byte, v value.Value) {
	s.found[string(key)] = v.Clone()
	s.size += int64(len(key)+len(v.B)) + setEntry
}

func (s *distinctValues) checkMemory() error {
	return s.q.checkMemory("the set of distinct values", s.size)
}

// addKey adds the value of an index field, encoded in ascending order. It returns false when only the document decides: entries
// do not have the types of numbers, and null may stand for a missing field.
func (s *distinctValues) addKey(field []byte) bool {
	if _, ok := s.found[string(field)]; ok {
		return true
	}
	v, _, ok := value.ReadKey(field, false, nil)
	if !ok || v.T != bson.TypeBinary && (v.T != bson.TypeNull || !s.grouped) {
		return false
	}
	s.put(field, v)
	return true
}

// tick returns an error once the command has exceeded its time limit, or the memory of a query.
func (s *distinctValues) tick() error {
	if s.reads++; s.reads%expiredAfter == 0 && s.q.Expired != nil {
		if err := s.q.Expired(); err != nil {
			return err
		}
	}
	return s.checkMemory()
}

func (p *Plan) forEach(f func(value.Doc) error) error {
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
		if err := f(row.Doc); err != nil {
			return err
		}
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

// skipping finds an index whose fields before the path the filter fixes by points. It may have a range of the path too. Bounds may have
// later fields if points fix the path: one key of each then decides. Other conditions on later fields are tests of keys.
func skipping(c *storage.Reader, q Query, con *conjunction, path string, list []*storage.Index) (best *Plan) {
	for _, ix := range list {
		if ix.IsID() {
			continue
		}
		p := candidate(c, q, con, ix, true)
		if p == nil || len(p.spans) > maxSkipped || !p.decidedByKeys() {
			continue
		}
		at, fixed := p.position(path), p.fixed()
		if at < 0 || at > fixed || at == fixed && len(p.bounds) > at+1 {
			continue
		}
		if best == nil || len(p.spans) < len(best.spans) {
			best = p
		}
	}
	return best
}

// maxSkipped bounds the spans of a skip scan. Each costs a seek, and reading a few keys costs less.
const maxSkipped = 10_000

// position is the position of a path among the fields of the index; -1 when it is not among them, or may have several entries.
func (p *Plan) position(path string) int {
	at := slices.IndexFunc(p.ix.Fields, func(f index.Field) bool { return f.Path == path })
	if at >= 0 && (p.ix.Multikey()&(1<<at) != 0 || hasPosition(path)) {
		return -1
	}
	return at
}

// jump is a skip scan: it reads the keys of each distinct value, in each span, until one matches. A null entry may stand for a missing
// field, so it reads null entries until a document has null.
func (p *Plan) jump(path string, set *distinctValues) error {
	v := p.c.View()
	defer v.Close()
	if len(p.spans) == 0 {
		return nil
	}
	it, err := v.Iter(p.spans[0].lo, p.spans[len(p.spans)-1].hi)
	if err != nil {
		return err
	}
	tests, at := p.keyTests(), p.position(path)
	for _, s := range p.spans {
		for ok := it.SeekGE(s.lo); ok && s.contains(it.Key()) && !set.full(); {
			if err := set.tick(); err != nil {
				return err
			}
			end, err := p.addEntry(v, it.Key(), at, tests, set)
			switch {
			case err != nil:
				return err
			case end == 0:
				ok = it.Next()
			default:
				next := successor(it.Key()[:end])
				if ok = it.Next(); ok && bytes.Compare(it.Key(), next) < 0 {
					ok = it.SeekGE(next)
				}
			}
		}
	}
	return storage.Error(it.Error())
}

// addEntry adds the value of an entry that matches, and returns where it ends in the key. It returns 0 for an entry that does not match,
// and for a null entry whose document has no null.
func (p *Plan) addEntry(v *storage.View, key []byte, at int, tests *keyTests, set *distinctValues) (end int, err error) {
	matches := holds
	if tests != nil {
		matches = tests.judge(key)
	}
	if matches == fails {
		return 0, nil
	}
	begin, end := p.fieldAt(key, at)
	field := ascending(key[begin:end], p.ix.Fields[at].Desc)
	if matches == holds && set.addKey(field) {
		return end, nil
	}
	d, err := v.Doc(storage.EntryID(key))
	if err != nil || d == nil || matches == unknown && !p.q.Filter.Match(d) {
		return 0, err
	}
	set.addFrom(d)
	if _, has := set.found[string(field)]; !has && field[0] == value.ClassNull {
		return 0, nil
	}
	return end, nil
}

// fieldAt returns where a field of an entry's key begins and ends.
func (p *Plan) fieldAt(key []byte, at int) (begin, end int) {
	end = storage.IndexHeader
	for i := range at + 1 {
		begin = end
		end += value.KeyLen(key[begin:], p.ix.Fields[i].Desc)
	}
	return begin, end
}

// ascending returns an encoded field in ascending order. It does not change its argument.
func ascending(field []byte, desc bool) []byte {
	if !desc {
		return field
	}
	field = bytes.Clone(field)
	for i := range field {
		field[i] = ^field[i]
	}
	return field
}

// eachKey adds the values of the matching keys. It reads the documents of those keys that do not have the value.
func (p *Plan) eachKey(path string, set *distinctValues) error {
	v := p.c.View()
	defer v.Close()
	ks, err := p.open(v)
	if err != nil {
		return err
	}
	tests, at := p.keyTests(), p.position(path)
	for !set.full() && ks.next() {
		if err := set.tick(); err != nil {
			return err
		}
		if _, err := p.addEntry(v, ks.key(), at, tests, set); err != nil {
			return err
		}
	}
	return storage.Error(ks.err())
}
