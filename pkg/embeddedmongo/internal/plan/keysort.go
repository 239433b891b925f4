package plan

import (
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// keySort builds sort keys from the keys of an index that has all fields of the sort, so only the documents of the page are read:
//
//	sort    state.type -1, _id 1
//	index   ws │ work_queue_id │ state.type │ … │ _id
//
// It belongs to one execution.
type keySort struct {
	p      *Plan
	fields []sortedField
}

// sortedField is a field of the sort: its position in the keys of the index, and whether the keys have it in the other direction.
type sortedField struct {
	at      int // The number of fields for the _id behind them.
	flipped bool
}

// keySort returns the sort by the keys of the plan; nil when they do not have all fields.
func (p *Plan) keySort() *keySort {
	if p.q.Sort == nil || p.q.ReturnKey || p.ix.IsID() {
		return nil
	}
	s := &keySort{p: p}
	for _, f := range p.q.Sort.Fields {
		at := len(p.ix.Fields)
		if f.Path != "_id" {
			if at = p.position(f.Path); at < 0 {
				return nil
			}
		}
		s.fields = append(s.fields, sortedField{at: at, flipped: f.Desc != p.descAt(at)})
		if f.Path == "_id" {
			break // It is unique, so later fields have no effect.
		}
	}
	return s
}

// sortKey returns the sort key of an entry in memory of its own: byte order is sort order.
func (s *keySort) sortKey(key []byte) []byte {
	var sorted []byte
	for _, f := range s.fields {
		part := storage.EntryID(key)
		if f.at < len(s.p.ix.Fields) {
			begin, end := s.p.fieldAt(key, f.at)
			part = key[begin:end]
		}
		from := len(sorted)
		sorted = append(slices.Grow(sorted, len(part)), part...)
		if f.flipped {
			for i := from; i < len(sorted); i++ {
				sorted[i] = ^sorted[i]
			}
		}
	}
	return sorted
}

// sortCost is the cost of reading a plan's n keys and sorting their matches: each needs a document, or only those of the rows do.
func (p *Plan) sortCost(con *conjunction, n, matches, rows int64) int64 {
	if p.keySort() != nil && p.decidesAll(con) {
		matches = min(matches, rows)
	}
	return n + matches*docCostIn(p.c.Count())
}
