package plan

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// memberCost is the cost of adding a key to members, in units of reading one key.
const memberCost = 1

// maxMembers bounds the keys of members: 16 bytes each.
const maxMembers = 1 << 18

// costWithin estimates the cost of a number of rows when members, the matches among n keys, filter the keys of the plan. It takes the
// documents as evenly spread: where they are not, a review decides again.
func (p *Plan) costWithin(n, matches, rows int64) int64 {
	keys := min(p.c.Count(), rows*p.c.Count()/max(matches, 1))
	return n + matches + keys + min(rows, matches)*docCostIn(p.c.Count())
}

// members are the documents below the keys of a plan, by a hash of their _id. A document outside of them does not match the plan's
// bounds, or its other keys. One inside may not match either: hashes collide, and bounds need not be exact. So members spare documents,
// and the filter still decides.
type members struct {
	seed  maphash.Seed
	table []uint64 // Open addressing; 0 is an empty slot.
	mask  uint64
	n     int
}

// newMembers returns members with space for n documents. They grow.
func newMembers(n int) *members {
	size := uint64(64)
	for size < 2*uint64(n) {
		size *= 2
	}
	return &members{seed: maphash.MakeSeed(), table: make([]uint64, size), mask: size - 1}
}

// membersOf reads the keys of a plan within a view, of which about n match; nil when they are far more.
func membersOf(v *storage.View, p *Plan, n int) (*members, error) {
	m := newMembers(n)
	most := len(m.table) * 3 / 4
	err := p.eachTested(v, p.con, func(key []byte) bool {
		m.add(p.idOf(key))
		return m.n < most
	})
	if m.n >= most {
		return nil, err
	}
	return m, err
}

func (m *members) hash(id []byte) uint64 { return max(1, maphash.Bytes(m.seed, id)) }

func (m *members) add(id []byte) { m.put(m.hash(id)) }

func (m *members) put(h uint64) {
	for i := h & m.mask; ; i = (i + 1) & m.mask {
		switch m.table[i] {
		case h:
			return
		case 0:
			m.table[i] = h
			if m.n++; m.n > len(m.table)/4*3 {
				m.grow()
			}
			return
		}
	}
}

// grow doubles the table.
func (m *members) grow() {
	old := m.table
	m.table, m.mask, m.n = make([]uint64, 2*len(old)), 2*uint64(len(old))-1, 0
	for _, h := range old {
		if h != 0 {
			m.put(h)
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

// maxOutsiders bounds the documents outside of a range.
const maxOutsiders = 1 << 16

// complement is the plan of the keys outside of the final range; nil when the plan has no such range, or a document may have keys on
// both sides.
func (p *Plan) complement() *Plan {
	last := len(p.bounds) - 1
	if last < 0 || p.ix.IsID() || p.bounds[last].points != nil || p.ix.Multikey()&(1<<last) != 0 {
		return nil
	}
	out := *p
	out.merge, out.reverse, out.also, out.spans, out.reached = false, false, nil, nil, 0
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

// outsidersOf reads the keys of a complement within a view: the documents outside of a plan's final range, of which none matches. A
// filter that most documents match has few, but in an order that depends on the field of the range they may come first. It returns nil
// when they are too many.
func outsidersOf(v *storage.View, p *Plan) (*idSet, error) {
	set := newIDSet(0)
	if len(p.spans) == 0 {
		return set, nil
	}
	full := false
	err := p.eachKeyOf(v, func(key []byte) bool {
		set.add(p.idOf(key))
		full = set.len() > maxOutsiders
		return !full
	})
	if full || err != nil {
		return nil, err
	}
	return set, nil
}
