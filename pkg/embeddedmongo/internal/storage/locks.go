package storage

import (
	"hash/maphash"
	"slices"
	"sync"
)

// stripes is a table of locks that keys are hashed onto.
//
// Lock order: a collection's mutex (shared), one document's stripe, then unique-key stripes in ascending order. Nobody holds two
// document stripes, and nobody takes a document stripe while holding a unique-key stripe.
type stripes struct {
	seed maphash.Seed
	mu   []sync.Mutex
}

func (s *stripes) init(n int) {
	s.seed = maphash.MakeSeed()
	s.mu = make([]sync.Mutex, n)
}

func (s *stripes) lock(key []byte) *sync.Mutex {
	m := &s.mu[s.index(key)]
	m.Lock()
	return m
}

func (s *stripes) index(key []byte) int {
	return int(maphash.Bytes(s.seed, key) % uint64(len(s.mu)))
}

// lockAll locks the stripes of all keys, each once, in ascending order, and returns what unlocks them.
func (s *stripes) lockAll(keys [][]byte) func() {
	if len(keys) == 0 {
		return func() {}
	}
	ix := make([]int, len(keys))
	for i, k := range keys {
		ix[i] = s.index(k)
	}
	slices.Sort(ix)
	ix = slices.Compact(ix)
	for _, i := range ix {
		s.mu[i].Lock()
	}
	return func() {
		for _, i := range ix {
			s.mu[i].Unlock()
		}
	}
}
