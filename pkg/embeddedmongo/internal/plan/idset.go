package plan

import (
	"bytes"
	"hash/maphash"
)

// idSet is a set of encoded ids. Unlike members it is exact, so what it says needs no document.
type idSet struct {
	seed  maphash.Seed
	table []uint32 // Open addressing: the number of an id, from 1 on; 0 is an empty slot.
	ids   []byte   // The ids, one after another.
	ends  []int    // The end of each id.
}

// newIDSet returns a set with space for n ids. It grows.
func newIDSet(n int) *idSet {
	size := 64
	for size < 2*n {
		size *= 2
	}
	return &idSet{seed: maphash.MakeSeed(), table: make([]uint32, size)}
}

func (s *idSet) len() int { return len(s.ends) }

func (s *idSet) at(i uint32) []byte {
	begin := 0
	if i > 1 {
		begin = s.ends[i-2]
	}
	return s.ids[begin:s.ends[i-1]]
}

// slot is the place of an id in the table.
func (s *idSet) slot(id []byte) (slot int, found bool) {
	slot = int(maphash.Bytes(s.seed, id) & uint64(len(s.table)-1))
	for s.table[slot] != 0 {
		if bytes.Equal(s.at(s.table[slot]), id) {
			return slot, true
		}
		slot = (slot + 1) & (len(s.table) - 1)
	}
	return slot, false
}

func (s *idSet) has(id []byte) bool {
	_, found := s.slot(id)
	return found
}

func (s *idSet) add(id []byte) {
	slot, found := s.slot(id)
	if found {
		return
	}
	s.ids = append(s.ids, id...)
	s.ends = append(s.ends, len(s.ids))
	s.table[slot] = uint32(len(s.ends)) // Sets have at most maxMembers ids.
	if len(s.ends) <= len(s.table)/4*3 {
		return
	}
	s.table = make([]uint32, 2*len(s.table))
	for i := range s.ends {
		slot, _ := s.slot(s.at(uint32(i + 1)))
		s.table[slot] = uint32(i + 1)
	}
}
