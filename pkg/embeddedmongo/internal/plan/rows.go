package plan

import (
	"bytes"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Row is one result. Its bytes are valid until the next call of Next, unless the rows were sorted in memory.
type Row struct {
	ID  []byte // Encoded _id.
	Doc value.Doc
}

// Rows delivers a plan's results one by one. It must be closed.
type Rows struct {
	p         *Plan
	view      *storage.View
	ks        keys
	tests     *keyTests
	seen      map[string]bool // The documents so far; nil when none can repeat.
	seenBytes int64
	twins     bool // A document can repeat, but only in succession.
	last      []byte
	sorter    *sorter
	skip      int64
	left      int64  // Results still to deliver; -1 without a limit.
	only      int    // The position of Query.Only in the index; -1 when documents are read.
	entry     []byte // Of keyDoc, idDoc and onlyDoc.
	value     []byte // Of keyDoc, idDoc and onlyDoc.
	Keys      int64  // Keys read.
	Docs      int64  // Documents read.
}

// Run starts the plan.
func (p *Plan) Run() (*Rows, error) {
	if p.q.ReturnKey {
		if err := p.returnsKeys(); err != nil {
			return nil, err
		}
	}
	r := &Rows{p: p, view: p.c.View(), skip: p.q.Skip, left: -1, only: -1, tests: p.keyTests()}
	if p.q.Limit > 0 {
		r.left = p.q.Limit
	}
	if p.q.Only != "" && p.sorted && !p.dedupe && !p.ix.IsID() {
		r.only = p.position(p.q.Only)
	}
	switch {
	case p.dedupe && p.merge && p.adjacent():
		r.twins = true
	case p.dedupe:
		r.seen = map[string]bool{}
	}
	var err error
	if r.ks, err = p.open(r.view); err != nil {
		r.view.Close()
		return nil, err
	}
	return r, nil
}

// adjacent reports whether the entries of a document are adjacent when the spans are merged. They are when all multikey fields are
// fixed by points, because the suffixes are then equal.
func (p *Plan) adjacent() bool {
	return p.points() && len(p.spans) <= maxMerge && p.ix.Multikey()>>len(p.bounds) == 0
}

// Close ends the reading.
func (r *Rows) Close() error { return r.view.Close() }

// Next returns the next result; ok is false at the end.
func (r *Rows) Next() (row Row, ok bool, err error) {
	if r.left == 0 {
		return Row{}, false, nil
	}
	if r.p.sorted {
		for ; r.skip > 0; r.skip-- {
			if _, ok, err = r.fetch(false); !ok || err != nil {
				return Row{}, false, err
			}
		}
		row, ok, err = r.fetch(true)
	} else {
		row, ok, err = r.sortedNext()
	}
	if !ok || err != nil {
		return Row{}, false, err
	}
	if r.left > 0 {
		r.left--
	}
	return row, true, nil
}

// fetch reads up to the next match. A row that will be skipped needs its document only when its key does not decide the match.
func (r *Rows) fetch(want bool) (Row, bool, error) {
	for r.ks.next() {
		if r.Keys++; r.Keys%expiredAfter == 0 && r.p.q.Expired != nil {
			if err := r.p.q.Expired(); err != nil {
				return Row{}, false, err
			}
		}
		id := r.p.idOf(r.ks.key())
		repeated, err := r.again(id)
		if err != nil {
			return Row{}, false, err
		}
		if repeated {
			continue
		}
		matches := r.p.exact
		if r.tests != nil {
			verdict := r.tests.judge(r.ks.key())
			if verdict == fails {
				continue
			}
			matches = verdict == holds && r.tests.whole
		}
		if matches {
			if row, ok, err := r.fromKey(id, want); ok || err != nil {
				return row, ok, err
			}
		}
		d, err := r.doc(id)
		if err != nil {
			return Row{}, false, err
		}
		if d == nil {
			continue
		}
		r.Docs++
		if !matches && !r.p.q.Filter.Match(d) {
			continue
		}
		return r.result(id, d, want)
	}
	return Row{}, false, storage.Error(r.ks.err())
}

// fromKey is the row of a match whose key has all that the reader needs; ok is false when its document does.
func (r *Rows) fromKey(id []byte, want bool) (row Row, ok bool, err error) {
	if !want || r.p.q.ReturnKey {
		return r.result(id, nil, want)
	}
	var d value.Doc
	switch {
	case r.p.q.IDs && r.p.sorted:
		d = r.idDoc(id)
	case r.only >= 0:
		d = r.onlyDoc()
	}
	return Row{ID: id, Doc: d}, d != nil, nil
}

// result is the row of a match: its document, or the fields of the index entry.
func (r *Rows) result(id []byte, d value.Doc, want bool) (Row, bool, error) {
	if want && r.p.q.ReturnKey {
		entry, err := r.keyDoc()
		return Row{ID: id, Doc: entry}, err == nil, err
	}
	return Row{ID: id, Doc: d}, true, nil
}

// idDoc builds a document of an encoded _id; nil when it does not have the type.
func (r *Rows) idDoc(id []byte) value.Doc {
	v, _, ok := value.ReadKey(id, false, r.value)
	if !ok || v.T != bson.TypeBinary {
		return nil
	}
	r.value, r.entry = v.B, value.BuildOnto(r.entry[:0]).Add("_id", v).Bytes()
	return r.entry
}

// onlyDoc builds a document of the field that the reader needs from the index entry; nil when the entry does not have its type. Null
// stands for a missing field too.
func (r *Rows) onlyDoc() value.Doc {
	begin, end := r.p.fieldAt(r.ks.key(), r.only)
	v, _, ok := value.ReadKey(r.ks.key()[begin:end], r.p.ix.Fields[r.only].Desc, r.value)
	if !ok || v.T != bson.TypeBinary && v.T != bson.TypeString && v.T != bson.TypeNull {
		return nil
	}
	if v.B != nil {
		r.value = v.B
	}
	r.entry = value.BuildOnto(r.entry[:0]).Add(r.p.q.Only, v).Bytes()
	return r.entry
}

// again reports whether the document was delivered before.
func (r *Rows) again(id []byte) (bool, error) {
	switch {
	case r.twins:
		if bytes.Equal(r.last, id) {
			return true, nil
		}
		r.last = append(r.last[:0], id...)
	case r.seen != nil:
		if r.seen[string(id)] {
			return true, nil
		}
		r.seen[string(id)] = true
		r.seenBytes += int64(len(id)) + setEntry
		return false, r.p.q.checkMemory("the set of documents with several keys", r.seenBytes)
	}
	return false, nil
}

func (r *Rows) doc(id []byte) (value.Doc, error) {
	if r.p.ix.IsID() {
		d, err := r.ks.value()
		return d, storage.Error(err)
	}
	return r.view.Doc(id)
}

func (r *Rows) sortedNext() (Row, bool, error) {
	if r.sorter == nil {
		keep := int64(0)
		if r.p.q.Limit > 0 {
			keep = r.p.q.Skip + r.p.q.Limit
		}
		r.sorter = newSorter(r.p.q.Sort, keep)
		for {
			row, ok, err := r.fetch(true)
			if err != nil {
				return Row{}, false, err
			}
			if !ok {
				break
			}
			if err := r.sorter.add(row); err != nil {
				return Row{}, false, err
			}
		}
		r.sorter.finish(r.p.q.Skip)
	}
	row, ok := r.sorter.next()
	return row, ok, nil
}

// All reads every result into memory that the caller owns.
func (r *Rows) All() ([]Row, error) {
	var out []Row
	for {
		row, ok, err := r.Next()
		if err != nil || !ok {
			return out, err
		}
		out = append(out, Row{ID: bytes.Clone(row.ID), Doc: bytes.Clone(row.Doc)})
	}
}
