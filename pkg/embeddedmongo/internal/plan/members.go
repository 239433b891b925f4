package plan

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// memberCost is the cost of adding a key to members, in units of reading one key.
const memberCost = 2

// maxMembers bounds the keys of members: 16 bytes each.
const maxMembers = 1 << 18

// costWithin estimates the cost of a number of rows when members of n documents filter the keys of the plan. It takes the documents as
// evenly spread: where they are not, a review decides again.
func (p *Plan) costWithin(n, rows int64) int64 {
	keys := min(p.c.Count(), rows*p.c.Count()/max(n, 1))
	return n*memberCost + keys + min(rows, n)*docCost
}

// members are the documents below the keys of a plan, by a hash of their _id. A document outside of them does not match the plan's
// bounds. One inside may not match either: hashes collide, and bounds need not be exact. So members spare documents, and the filter
// still decides.
type members struct {
	seed  maphash.Seed
	table []uint64 // Open addressing; 0 is an empty slot.
	mask  uint64
}

// membersOf reads the keys of a plan, about n, within a view; nil when they are far more.
func membersOf(v *storage.View, p *Plan, n int) (*members, error) {
	size := uint64(64)
	for size < 2*uint64(n) {
		size *= 2
	}
	m := &members{seed: maphash.MakeSeed(), table: make([]uint64, size), mask: size - 1}
	q := *p
	q.merge = false
	ks, err := q.open(v)
	if err != nil {
		return nil, err
	}
	left := size - size/4
	for ks.next() {
		if left--; left == 0 {
			return nil, nil
		}
		if left%estimatedAfter == 0 && p.q.Expired != nil {
			if err := p.q.Expired(); err != nil {
				return nil, err
			}
		}
		m.add(p.idOf(ks.key()))
	}
	return m, storage.Error(ks.err())
}

func (m *members) hash(id []byte) uint64 { return max(1, maphash.Bytes(m.seed, id)) }

func (m *members) add(id []byte) {
	h := m.hash(id)
	for i := h & m.mask; ; i = (i + 1) & m.mask {
		switch m.table[i] {
		case h:
			return
		case 0:
			m.table[i] = h
			return
		}
	}
}

// has reports whether a document may be a member.
func (m *members) has(id []byte) bool {
	h := m.hash(id)
	for i := h & m.mask; m.table[i] != 0; i = (i + 1) & m.mask {
		if m.table[i] == h {
			return true
		}
	}
	return false
}

// maxOutsiders bounds the documents of outsiders.
const maxOutsiders = 1 << 16

// outsiders are the documents outside of a plan's final range, by their encoded _id: none of them matches. A filter that most
// documents match has few, but in an order that depends on the field of the range they may come first.
type outsiders map[string]bool

// complement is the plan of the keys outside of the final range; nil when the plan has no such range, or a document may have keys on
// both sides.
func (p *Plan) complement() *Plan {
	last := len(p.bounds) - 1
	if last < 0 || p.ix.IsID() || p.bounds[last].points != nil || p.ix.Multikey()&(1<<last) != 0 {
		return nil
	}
	out := *p
	out.merge, out.reverse, out.also, out.spans = false, false, nil, nil
	for _, s := range p.spans {
		prefix := s.lo[:s.at]
		out.spans = append(out.spans, span{lo: prefix, hi: s.lo, at: s.at})
		if s.hi != nil {
			out.spans = append(out.spans, span{lo: s.hi, hi: successor(prefix), at: s.at})
		}
	}
	out.spans = slices.DeleteFunc(out.spans, func(s span) bool { return s.hi != nil && bytes.Compare(s.lo, s.hi) >= 0 })
	return &out
}

// outsidersOf reads the keys of a complement within a view; nil when they are too many.
func outsidersOf(v *storage.View, p *Plan) (outsiders, error) {
	set := outsiders{}
	if len(p.spans) == 0 {
		return set, nil
	}
	ks, err := p.open(v)
	if err != nil {
		return nil, err
	}
	for ks.next() {
		if len(set) == maxOutsiders {
			return nil, nil
		}
		set[string(p.idOf(ks.key()))] = true
	}
	return set, storage.Error(ks.err())
}
