package storage

import (
	"hash/maphash"
	"slices"
	"sync"
)

// stripes is a table of striped locks: keys map to locks by hash.
//
// Lock order: a collection's mutex (shared), documents' stripes in ascending order, then unique-key stripes in ascending order.
// No goroutine takes a document stripe while it holds a unique-key stripe.
type stripes struct {
	seed maphash.Seed
	mu   []sync.Mutex
}

func (s *stripes) init(n int) {
	s.seed = maphash.MakeSeed()
	s.mu = make([]sync.Mutex, n)
}

// hash returns the hash that selects the stripe of a key.
func (s *stripes) hash(key []byte) uint64 { return maphash.Bytes(s.seed, key) }

func (s *stripes) lock(key []byte) *sync.Mutex {
	m := &s.mu[s.hash(key)%uint64(len(s.mu))]
	m.Lock()
	return m
}

// lockAll locks the stripes of these hashes, each once, in ascending order. It replaces the hashes by the stripes and returns them
// for unlockAll.
func (s *stripes) lockAll(list []uint64) []uint64 {
	for i := range list {
		list[i] %= uint64(len(s.mu))
	}
	slices.Sort(list)
	list = slices.Compact(list)
	for _, i := range list {
		s.mu[i].Lock()
	}
	return list
}

func (s *stripes) unlockAll(list []uint64) {
	for _, i := range list {
		s.mu[i].Unlock()
	}
}
