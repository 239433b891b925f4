package trigger

import (
	"hash/maphash"

	"github.com/google/uuid"
)

// finished remembers up to limit ids of events in the order of their first evaluation. A busy workspace fills it, so it holds no
// pointers, and an id takes 24 bytes in the ring and 5 to 11 in the table.
type finished struct {
	limit int
	seed  maphash.Seed
	// ring holds count ids from head on, oldest first. It grows to limit.
	ring        []finishedID
	head, count int
	// table finds ids: positions in ring plus one, 0 where there is none, with linear probing. Its length is a power of two.
	table []uint32
}

type finishedID struct {
	id uuid.UUID
	at int64 // In microseconds.
}

// leastRing is the length of the first ring.
const leastRing = 64

func newFinished(limit int) *finished { return &finished{limit: limit, seed: maphash.MakeSeed()} }

// find returns the time of an id, which stays valid until the next call of set, drop or forget; nil if the id is unknown.
func (f *finished) find(id uuid.UUID) *int64 {
	if slot := f.slot(id); slot >= 0 {
		return &f.ring[f.table[slot]-1].at
	}
	return nil
}

// slot returns the slot of an id in the table, or -1.
func (f *finished) slot(id uuid.UUID) int {
	if f.count == 0 {
		return -1
	}
	for i := f.home(id); f.table[i] != 0; i = f.after(i) {
		if f.ring[f.table[i]-1].id == id {
			return i
		}
	}
	return -1
}

// home is the slot at which the search for an id begins. Clients choose ids, so the hash has a seed.
func (f *finished) home(id uuid.UUID) int {
	return int(maphash.Bytes(f.seed, id[:]) & uint64(len(f.table)-1))
}

func (f *finished) after(slot int) int { return (slot + 1) & (len(f.table) - 1) }

// set notes an id with its time. A known id keeps its place in the order. A new one displaces the oldest of a full ring.
func (f *finished) set(id uuid.UUID, at int64) {
	if entry := f.find(id); entry != nil {
		*entry = at
		return
	}
	if f.count == f.limit {
		f.drop()
	}
	if f.count == len(f.ring) {
		f.rebuild(min(max(leastRing, len(f.ring)*2), f.limit), func(finishedID) bool { return true })
	}
	f.push(finishedID{id, at})
}

func (f *finished) push(one finishedID) {
	at := (f.head + f.count) % len(f.ring)
	f.ring[at] = one
	f.count++
	i := f.home(one.id)
	for f.table[i] != 0 {
		i = f.after(i)
	}
	f.table[i] = uint32(at) + 1
}

// oldest returns the time of the oldest id, and whether there is one.
func (f *finished) oldest() (at int64, ok bool) {
	if f.count == 0 {
		return 0, false
	}
	return f.ring[f.head].at, true
}

// drop forgets the oldest id.
func (f *finished) drop() {
	slot := f.slot(f.ring[f.head].id)
	// Close the gap: an id may move to it if its search passes it.
	for i := f.after(slot); f.table[i] != 0; i = f.after(i) {
		mask := len(f.table) - 1
		if home := f.home(f.ring[f.table[i]-1].id); (i-home)&mask >= (i-slot)&mask {
			f.table[slot], slot = f.table[i], i
		}
	}
	f.table[slot] = 0
	f.head = (f.head + 1) % len(f.ring)
	f.count--
}

// forget removes ids.
func (f *finished) forget(ids map[uuid.UUID]bool) {
	if len(f.ring) > 0 {
		f.rebuild(len(f.ring), func(one finishedID) bool { return !ids[one.id] })
	}
}

// rebuild copies the ids that stay to a ring of a length, and makes a table that they fill at most by three quarters.
func (f *finished) rebuild(length int, stays func(finishedID) bool) {
	old := *f
	slots := leastRing
	for slots*3 < length*4 {
		slots *= 2
	}
	f.ring, f.head, f.count, f.table = make([]finishedID, length), 0, 0, make([]uint32, slots)
	for i := range old.count {
		if one := old.ring[(old.head+i)%len(old.ring)]; stays(one) {
			f.push(one)
		}
	}
}
