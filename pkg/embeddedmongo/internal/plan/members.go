package plan

import (
	"hash/maphash"

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
