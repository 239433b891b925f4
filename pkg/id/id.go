// Package id generates version 7 UUIDs (RFC 9562). They sort by creation time, so ids created together are neighbours
// in an index.
//
//	 48 bits            4   12 bits               2   62 bits
//	+------------------+---+---------------------+---+------------------------+
//	| Unix milliseconds| 7 | fraction of the ms  |10 | random                 |
//	+------------------+---+---------------------+---+------------------------+
//	        \________ strictly increasing ______/
//
// Within one Source the 60 bits of time strictly increase, even when the clock steps back. A reading that is not later
// than the last one is replaced by the last one plus one.
package id

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/clock"
)

// Source generates UUIDs. It is safe for concurrent use.
type Source struct {
	clock  clock.Clock
	random io.Reader

	mu   sync.Mutex
	last uint64 // The 60 bits of time of the last UUID.
}

// New returns a Source that reads time from c and randomness from random, which must outlive the Source.
func New(c clock.Clock, random io.Reader) *Source { return &Source{clock: c, random: random} }

// System returns a Source with the machine's clock and cryptographic randomness.
func System() *Source { return New(clock.System{}, rand.Reader) }

// New returns a UUID that sorts after every earlier one of this Source. It panics if random fails, because a server
// must not continue without randomness.
func (s *Source) New() uuid.UUID {
	var u uuid.UUID
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.ReadFull(s.random, u[8:]); err != nil {
		panic(fmt.Sprintf("id: reading randomness: %v", err))
	}
	s.last = max(timeBits(s.clock.Now()), s.last+1)
	binary.BigEndian.PutUint64(u[:8], s.last<<4&^0xffff|0x7000|s.last&0x0fff)
	u[8] = u[8]&0x3f | 0x80
	return u
}

// Derived returns the id that follows from a time and a seed: equal ones have equal ids. It sorts by the time, as other ids do.
func Derived(at time.Time, seed []byte) uuid.UUID {
	sum := sha256.Sum256(seed)
	u := uuid.UUID(sum[:16])
	binary.BigEndian.PutUint16(u[0:], uint16(at.UnixMilli()>>32))
	binary.BigEndian.PutUint32(u[2:], uint32(at.UnixMilli()))
	u[6] = u[6]&0x0f | 0x70 // Version 7.
	u[8] = u[8]&0x3f | 0x80
	return u
}

// Time returns the creation time of u with millisecond resolution, or false if u is not a version 7 UUID.
func Time(u uuid.UUID) (time.Time, bool) {
	if u.Version() != 7 || u.Variant() != uuid.RFC4122 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(u[:8]) >> 16)).UTC(), true
}

// timeBits returns the milliseconds of t shifted left by twelve bits, with the fraction of the millisecond in the low
// twelve.
func timeBits(t time.Time) uint64 {
	ms := t.UnixMilli()
	fraction := t.Sub(time.UnixMilli(ms)) // In [0, 1 ms).
	return uint64(ms)<<12 | uint64(fraction)*4096/uint64(time.Millisecond)
}
