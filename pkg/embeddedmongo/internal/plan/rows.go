package plan

import (
	"bytes"
	"errors"

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
	p        *Plan
	view     *storage.View
	ks       keys
	tests    *keyTests
	review   review
	locality locality
	// members, when not nil, has all documents that match.
	members *members
	// outsiders, when not nil, do not match.
	outsiders *idSet
	seen      map[string]bool // The documents so far; nil when none can repeat.
	seenBytes int64
	twins     bool // A document can repeat, but only in succession.
	last      []byte
	sorter    *sorter
	keyed     *keySort // Sorts the keys instead of the documents; nil for documents.
	skip      int64
	passed    int64  // Results so far, skipped ones included.
	left      int64  // Results still to deliver; -1 without a limit.
	only      int    // The position of Query.Only in the index; -1 when documents are read.
	entry     []byte // Of keyDoc, idDoc and onlyDoc.
	value     []byte // Of keyDoc, idDoc and onlyDoc.
	Keys      int64  // Keys read.
	Docs      int64  // Documents read.
}

// Run starts the plan.
func (p *Plan) Run() (*Rows, error) {
	r := &Rows{view: p.c.View(), skip: p.q.Skip, left: -1}
	if err := r.start(p); err != nil {
		r.view.Close()
		return nil, err
	}
	return r, nil
}

func (r *Rows) start(p *Plan) (err error) {
	if p.q.Limit > 0 {
		r.left = p.q.Limit
	}
	if p.q.Skip >= p.c.Count() && p.q.Skip > 0 {
		r.left = 0 // No walk is needed to skip more documents than there are.
	}
	if err := r.begin(p); err != nil {
		return err
	}
	if p.q.ReturnKey {
		return p.returnsKeys() // Another plan would return other keys.
	}
	if p.within != nil {
		if r.members, err = membersOf(r.view, p.within, int(wholeKeys*(p.q.Skip+p.q.Limit))); err != nil {
			return err
		}
	}
	r.review = newReview(p)
	return nil
}

// begin starts reading by a plan.
func (r *Rows) begin(p *Plan) (err error) {
	r.p, r.seen, r.twins, r.tests = p, nil, false, p.keyTests(p.con)
	if r.only = -1; p.q.Only != "" && p.sorted && !p.dedupe && !p.ix.IsID() {
		r.only = p.position(p.q.Only)
	}
	if r.keyed = nil; !p.sorted {
		r.keyed = p.keySort()
	}
	switch {
	case p.dedupe && p.merge && p.adjacent():
		r.twins = true
	case p.dedupe:
		r.seen = map[string]bool{}
	}
	r.ks, err = p.open(r.view)
	return err
}

// Close ends the reading.
func (r *Rows) Close() error { return r.view.Close() }

// Next returns the next result; ok is false at the end.
func (r *Rows) Next() (row Row, ok bool, err error) {
	if r.left == 0 {
		return Row{}, false, nil
	}
	if err := r.skipKeys(); err != nil || r.left == 0 {
		return Row{}, false, err
	}
	for r.p.sorted {
		row, ok, err = r.fetch(r.skip == 0)
		if errors.Is(err, errOtherPlan) {
			break
		}
		if !ok || err != nil {
			return Row{}, false, err
		}
		if r.passed++; r.skip == 0 {
			break
		}
		r.skip--
	}
	if !r.p.sorted {
		if row, ok, err = r.sortedNext(); !ok || err != nil {
			return Row{}, false, err
		}
	}
	if r.left > 0 {
		r.left--
	}
	return row, true, nil
}

// fetch reads up to the next match. A row that will be skipped needs its document only when its key does not decide the match.
// errOtherPlan means that a cheaper plan has replaced this one and starts from the beginning.
func (r *Rows) fetch(want bool) (Row, bool, error) {
	for r.ks.next() {
		if err := r.countKey(); err != nil {
			return Row{}, false, err
		}
		id := r.p.idOf(r.ks.key())
		if r.members != nil && !r.members.has(id) || r.outsiders != nil && r.outsiders.has(id) {
			continue
		}
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
		if !matches {
			ok, err := r.p.q.Filter.Match(d)
			if err != nil {
				return Row{}, false, err
			}
			if !ok {
				continue
			}
		}
		return r.result(id, d, want)
	}
	return Row{}, false, storage.Error(r.ks.err())
}

// countKey counts a key. From time to time it returns the error of a limit that has been reached, and errOtherPlan for a cheaper plan.
func (r *Rows) countKey() error {
	if r.Keys++; r.Keys&255 == 0 && r.p.q.Expired != nil {
		if err := r.p.q.Expired(); err != nil {
			return err
		}
	}
	if !r.review.due(r) {
		return nil
	}
	better, err := r.reconsider()
	if err == nil && better {
		err = errOtherPlan
	}
	return err
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
	if r.review.at > 0 {
		r.locality.read(id)
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
			row, ok, err := r.fetch(r.keyed == nil)
			if err != nil {
				return Row{}, false, err
			}
			if !ok {
				break
			}
			if r.keyed != nil {
				err = r.sorter.put(r.keyed.sortKey(r.ks.key()), row)
			} else {
				err = r.sorter.add(row)
			}
			if err != nil {
				return Row{}, false, err
			}
		}
		r.sorter.finish(max(r.p.q.Skip, r.passed)) // Skip what the replaced plan delivered.
		r.ks = nil
	}
	for {
		row, ok := r.sorter.next()
		if !ok || row.Doc != nil {
			return row, ok, nil
		}
		if r.p.q.IDs {
			if row.Doc = r.idDoc(row.ID); row.Doc != nil {
				return row, true, nil
			}
		}
		var err error
		if row.Doc, err = r.view.Doc(row.ID); err != nil {
			return Row{}, false, err
		}
		if r.Docs++; row.Doc != nil {
			return row, true, nil
		}
	}
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
