package grams

// Set is a set of trigrams. The zero value is empty.
type Set struct {
	table []Gram // Open addressing: a trigram plus one; 0 is an empty slot.
	n     int
}

// usual is the initial size of a table: a power of two.
const usual = 64

func slot(g Gram, mask uint32) uint32 { return uint32(g) * 2654435769 >> 7 & mask }

// Has reports whether the set has a trigram.
func (s *Set) Has(g Gram) bool {
	if s.n == 0 {
		return false
	}
	mask := uint32(len(s.table) - 1)
	for i := slot(g, mask); s.table[i] != 0; i = (i + 1) & mask {
		if s.table[i] == g+1 {
			return true
		}
	}
	return false
}

// Add adds a trigram, and reports whether it is new.
func (s *Set) Add(g Gram) bool {
	if 4*s.n >= 3*len(s.table) {
		s.grow()
	}
	mask := uint32(len(s.table) - 1)
	i := slot(g, mask)
	for ; s.table[i] != 0; i = (i + 1) & mask {
		if s.table[i] == g+1 {
			return false
		}
	}
	s.table[i] = g + 1
	s.n++
	return true
}

// Bytes is the size of the set in memory.
func (s *Set) Bytes() int { return 4 * len(s.table) }

// grow doubles the table.
func (s *Set) grow() {
	old := s.table
	s.table, s.n = make([]Gram, max(usual, 2*len(old))), 0
	for _, g := range old {
		if g != 0 {
			s.Add(g - 1)
		}
	}
}
