package plan

import (
	"encoding/binary"
	"hash/maphash"
)

// valueSet is an exact set of encoded values in ascending order. Almost all of them are ids with one header and 16 bytes, which cost
// 24 to 48 bytes each; others are in a map.
//
//	class, length, subtype │ 16 bytes
//	header                 │ one slot of the table
type valueSet struct {
	seed   maphash.Seed
	header string
	table  [][2]uint64 // Open addressing; zero is an empty slot.
	zero   bool        // The id of zeros is a value.
	n      int
	others map[string]struct{}

	counts []uint32 // Of each slot, see count; nil when nothing is counted.
	rest   map[string]uint32
}

// idBytes is the number of bytes of an id, and idLen of its encoding.
const (
	idBytes = 16
	idLen   = 6 + idBytes
)

func newValueSet() *valueSet { return newValueSetOf(0) }

// newValueSetOf returns a set with space for n values. It grows.
func newValueSetOf(n int64) *valueSet {
	size := int64(64)
	for size/4*3 <= n {
		size *= 2
	}
	return &valueSet{seed: maphash.MakeSeed(), table: make([][2]uint64, size)}
}

func (s *valueSet) len() int { return s.n }

// id returns an encoded value as the content of a slot; ok is false for other values than ids with the header of the set.
func (s *valueSet) id(key []byte) (id [2]uint64, ok bool) {
	if len(key) != idLen || string(key[:idLen-idBytes]) != s.header {
		return id, false
	}
	key = key[idLen-idBytes:]
	return [2]uint64{binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])}, true
}

// slot is the place of an id that is not zero.
func (s *valueSet) slot(id [2]uint64) (slot uint64, found bool) {
	mask := uint64(len(s.table) - 1)
	for slot = maphash.Comparable(s.seed, id) & mask; s.table[slot] != [2]uint64{}; slot = (slot + 1) & mask {
		if s.table[slot] == id {
			return slot, true
		}
	}
	return slot, false
}

func (s *valueSet) has(key []byte) bool {
	id, ok := s.id(key)
	switch {
	case !ok:
		_, found := s.others[string(key)]
		return found
	case id == [2]uint64{}:
		return s.zero
	}
	_, found := s.slot(id)
	return found
}

func (s *valueSet) add(key []byte) {
	if s.header == "" && len(key) == idLen {
		s.header = string(key[:idLen-idBytes])
	}
	id, ok := s.id(key)
	switch {
	case !ok:
		if _, found := s.others[string(key)]; !found {
			if s.others == nil {
				s.others = map[string]struct{}{}
			}
			s.others[string(key)] = struct{}{}
			s.n++
		}
		return
	case id == [2]uint64{}:
		if !s.zero {
			s.zero = true
			s.n++
		}
		return
	}
	slot, found := s.slot(id)
	if found {
		return
	}
	s.table[slot] = id
	if s.n++; s.n > len(s.table)/4*3 {
		s.grow()
	}
}

func (s *valueSet) grow() {
	old, counts := s.table, s.counts
	s.table = make([][2]uint64, 2*len(old))
	if counts != nil {
		s.counts = make([]uint32, len(s.table))
	}
	for i, id := range old {
		if id != [2]uint64{} {
			slot, _ := s.slot(id)
			s.table[slot] = id
			if counts != nil {
				s.counts[slot] = counts[i]
			}
		}
	}
}

// keep removes the values that another set does not have. Nothing must be counted.
func (s *valueSet) keep(other *valueSet) {
	kept := newValueSet()
	s.each(func(key []byte) {
		if other.has(key) {
			kept.add(key)
		}
	})
	*s = *kept
}

// count adds a value, and one to its number.
func (s *valueSet) count(key []byte) {
	s.add(key)
	if id, ok := s.id(key); ok && id != [2]uint64{} {
		slot, _ := s.slot(id)
		s.counts[slot]++
		return
	}
	if s.rest == nil {
		s.rest = map[string]uint32{}
	}
	s.rest[string(key)]++
}

// take returns the number of a value, which is then zero.
func (s *valueSet) take(key []byte) (n int64) {
	if id, ok := s.id(key); ok && id != [2]uint64{} {
		if slot, found := s.slot(id); found {
			n, s.counts[slot] = int64(s.counts[slot]), 0
		}
		return n
	}
	n = int64(s.rest[string(key)])
	delete(s.rest, string(key))
	return n
}

// each calls f with the encoded values, in no particular order.
func (s *valueSet) each(f func(key []byte)) {
	key := []byte(s.header)
	put := func(id [2]uint64) {
		key = binary.BigEndian.AppendUint64(key[:len(s.header)], id[0])
		key = binary.BigEndian.AppendUint64(key, id[1])
		f(key)
	}
	if s.zero {
		put([2]uint64{})
	}
	for _, id := range s.table {
		if id != [2]uint64{} {
			put(id)
		}
	}
	for other := range s.others {
		f([]byte(other))
	}
}
