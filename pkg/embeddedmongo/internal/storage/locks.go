package storage

import (
	"hash/maphash"
	"slices"
	"sync"
)

// stripes is a table of locks that keys are hashed onto.
//
// Lock order: a collection's mutex (shared), documents' stripes in ascending order, then unique-key stripes in ascending order.
// Nobody takes a document stripe while holding a unique-key stripe.
type stripes struct {
	seed maphash.Seed
	mu   []sync.Mutex
}

func (s *stripes) init(n int) {
	s.seed = maphash.MakeSeed()
	s.mu = make([]sync.Mutex, n)
}

// hash tells a key's stripe.
func (s *stripes) hash(key []byte) uint64 { return maphash.Bytes(s.seed, key) }

func (s *stripes) lock(key []byte) *sync.Mutex {
	m := &s.mu[s.hash(key)%uint64(len(s.mu))]
	m.Lock()
	return m
}

// lockAll locks the stripes of keys with these hashes, each once, in ascending order. It makes the list that of the stripes, for
// unlockAll.
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
