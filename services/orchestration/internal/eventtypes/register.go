package eventtypes

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/orchestration/internal/eventtypes/conformance"
	"github.com/orch-project/orch/services/orchestration/internal/eventtypes/inference"
)

const (
	// freshFor is how long a process uses what it read of an event type.
	freshFor = 5 * time.Second
	// fullFor is how long a process does not count the event types of a workspace that had maxTypes.
	fullFor = time.Minute
	// idleAfter is how long a name without events stays in memory.
	idleAfter = 10 * time.Minute
	// eagerSamples is the number of samples of a name that a process takes as they come; later ones follow at sampleEvery.
	eagerSamples = 100
	sampleEvery  = 100 * time.Millisecond
	// maxSampled bounds the payloads of a workspace that a process samples in a second, and the schemas that it merges them into, in bytes.
	maxSampled = 128 << 10
	// maxRegisterBytes bounds the memory for the names, samples and pinned schemas of a workspace. Samples beyond are not taken.
	maxRegisterBytes = 8 << 20
	// maxRecorded bounds the event types of a workspace that a record takes. The next one takes others.
	maxRecorded = 50
	// entrySize is the memory of an entry without its name and samples. shapeSize is the memory of the hash of a shape. textFactor is the
	// memory of a schema for each byte of its text.
	entrySize, shapeSize, textFactor = 256, 32, 8
	// maxShapes bounds the shapes of a name that a process knows. Beyond it begins again.
	maxShapes = 64
)

// register is what a process knows of event types. It is safe for concurrent use.
type register struct {
	mu         sync.Mutex
	workspaces map[uuid.UUID]*names
}

// names are the event types of a workspace that have had events here.
type names struct {
	entries map[string]*entry
	// fullUntil is the time until which no name is added.
	fullUntil time.Time
	// changed is the time at which an event type was last deleted, pinned or unpinned here. A read that began before may not have seen that.
	changed time.Time
	// bytes is the memory of the entries.
	bytes int
	// sampled is the number of bytes that were sampled in the second that began at second.
	sampled int
	second  time.Time
}

// entry is an event type.
type entry struct {
	id uuid.UUID
	// read is the time at which the event type was read. used is the time at which its last event arrived here.
	read, used time.Time
	// stored is the time of the last event as stored, and seen the time of the last one here.
	stored, seen time.Time
	// samples is the number of samples, and next the time of the next one.
	samples int
	next    time.Time
	// shapes are the schemas of samples, each as its hash, that the stored schema or the pending one includes.
	shapes map[uint64]struct{}
	// pinned is the time at which a schema was pinned, in microseconds; 0 for none. schema is that schema.
	pinned int64
	schema *conformance.Schema
	// pending is the schema of samples that are not stored yet, and size the bytes of its text.
	pending *inference.Schema
	size    int
}

func newRegister() *register { return &register{workspaces: map[uuid.UUID]*names{}} }

// workspace returns the names of a workspace. The caller has the lock.
func (r *register) workspace(ws uuid.UUID) *names {
	n := r.workspaces[ws]
	if n == nil {
		n = &names{entries: map[string]*entry{}}
		r.workspaces[ws] = n
	}
	return n
}

// isFresh reports whether an event needs no read of its type.
func (r *register) isFresh(ws uuid.UUID, name string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.workspaces[ws]
	if n == nil || n.entries[name] == nil {
		return false
	}
	e := n.entries[name]
	e.used = now
	return now.Sub(e.read) < freshFor
}

// isFull reports whether a workspace gets no further names for now.
func (r *register) isFull(ws uuid.UUID, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.workspaces[ws]
	return n != nil && now.Before(n.fullUntil)
}

// setFull notes that a workspace has no room for names.
func (r *register) setFull(ws uuid.UUID, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.workspace(ws).fullUntil = now.Add(fullFor)
}

// put notes an event type whose read began at now. pinned is the time at which a schema was pinned in it, in microseconds; 0 for none. put reports
// whether the caller is to read that schema: the type is not fresh until setPin notes it. Another id means that the type was deleted and began again.
// A read that is older than the noted one changes nothing. The next event reads the type again if an event type of the workspace has changed since
// now.
func (r *register) put(ws uuid.UUID, name string, id uuid.UUID, stored time.Time, pinned int64, now time.Time) (lacksPin bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.workspace(ws)
	e := n.entries[name]
	if e != nil && e.read.After(now) {
		return false
	}
	if e == nil || e.id != id {
		n.remove(name)
		if n.bytes+entrySize+len(name) > maxRegisterBytes { // Many names were deleted and began again. Names with events are read again.
			n.entries, n.bytes = map[string]*entry{}, 0
		}
		e = &entry{id: id}
		n.entries[name] = e
		n.bytes += entrySize + len(name)
	}
	e.used, e.stored = now, stored
	if pinned == 0 {
		n.bytes -= e.schema.Size()
		e.pinned, e.schema = 0, nil
	}
	n.setRead(e, now, e.pinned == pinned)
	return e.pinned != pinned
}

// setRead notes the time at which the read of an event type began, and whether the read is complete.
func (n *names) setRead(e *entry, now time.Time, complete bool) {
	e.read = now
	if !complete || !now.After(n.changed) {
		e.read = time.Time{}
	}
}

// setPin notes a schema that was read. The read of the event type began at now. It reports whether there is memory for the schema.
func (r *register) setPin(ws uuid.UUID, name string, pinned int64, schema *conformance.Schema, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.workspace(ws)
	e := n.entries[name]
	if e == nil {
		return true // The event type is gone.
	}
	n.setRead(e, now, true)
	n.bytes -= e.schema.Size()
	e.pinned, e.schema = pinned, nil
	if n.bytes+schema.Size() > maxRegisterBytes {
		return false
	}
	n.bytes += schema.Size()
	e.schema = schema
	return true
}

// pin returns the event type of a name and its pinned schema; nil for none.
func (r *register) pin(ws uuid.UUID, name string) (uuid.UUID, *conformance.Schema) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.workspaces[ws]; n != nil && n.entries[name] != nil {
		return n.entries[name].id, n.entries[name].schema
	}
	return uuid.Nil, nil
}

// forget drops an event type that is missing.
func (r *register) forget(ws uuid.UUID, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.workspaces[ws]; n != nil {
		n.remove(name)
	}
}

// invalidate drops an event type that has changed in the store. Reads in flight do not bring it back for longer than one batch.
func (r *register) invalidate(ws uuid.UUID, name string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.workspace(ws)
	n.remove(name)
	n.changed = now
}

// remove drops an entry, if it exists.
func (n *names) remove(name string) {
	if e := n.entries[name]; e != nil {
		n.bytes -= entrySize + len(name) + len(e.shapes)*shapeSize + e.size*textFactor + e.schema.Size()
		delete(n.entries, name)
	}
}

// see notes the time of an event, and reports whether its payload is to be sampled.
func (r *register) see(ws uuid.UUID, name string, payload int, at, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.workspaces[ws]
	if n == nil || n.entries[name] == nil {
		return false
	}
	e := n.entries[name]
	if at.After(e.seen) {
		e.seen = at
	}
	if e.samples >= eagerSamples && now.Before(e.next) || !n.admit(payload+e.size, now) {
		return false
	}
	e.samples++
	e.next = now.Add(sampleEvery)
	return true
}

// admit reports whether so many bytes may be read for a sample now.
func (n *names) admit(size int, now time.Time) bool {
	if now.Sub(n.second) >= time.Second {
		n.second, n.sampled = now, 0
	}
	if n.sampled+size > maxSampled || n.bytes >= maxRegisterBytes {
		return false
	}
	n.sampled += size
	return true
}

// add adds the schema of a sample to what is not stored yet, unless it is known.
func (r *register) add(ws uuid.UUID, name string, shape uint64, sample *inference.Schema) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.workspaces[ws]
	if n == nil || n.entries[name] == nil {
		return
	}
	e := n.entries[name]
	if _, ok := e.shapes[shape]; ok {
		return
	}
	if !n.merge(e, sample) {
		return
	}
	if e.shapes == nil || len(e.shapes) == maxShapes {
		n.bytes -= len(e.shapes) * shapeSize
		e.shapes = map[uint64]struct{}{}
	}
	e.shapes[shape] = struct{}{}
	n.bytes += shapeSize
}

// merge merges a sample into what is not stored yet. It reports whether there was memory for it.
func (n *names) merge(e *entry, sample *inference.Schema) bool {
	merged := inference.Merge(e.pending, sample).Within(maxSchema)
	size := len(merged.JSON())
	growth := (size - e.size) * textFactor
	if n.bytes+growth > maxRegisterBytes {
		return false
	}
	n.bytes += growth
	e.pending, e.size = merged, size
	return true
}

// change is what the Recorder stores of an event type.
type change struct {
	ws     uuid.UUID
	name   string
	id     uuid.UUID
	seen   time.Time
	sample *inference.Schema
}

// take returns what is not stored yet, and drops idle names. Times are stored once an hour, and with samples.
func (r *register) take(now time.Time) []change {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []change
	for ws, n := range r.workspaces {
		taken := 0
		for name, e := range n.entries {
			if e.pending != nil || e.seen.Sub(e.stored) >= storedEvery {
				if taken++; taken > maxRecorded {
					continue
				}
				all = append(all, change{ws, name, e.id, e.seen, e.pending})
				n.bytes -= e.size * textFactor
				e.pending, e.size = nil, 0
				if e.seen.After(e.stored) {
					e.stored = e.seen
				}
			}
			if now.Sub(e.used) >= idleAfter {
				n.remove(name)
			}
		}
		if len(n.entries) == 0 && !now.Before(n.fullUntil) && now.Sub(n.changed) >= freshFor {
			delete(r.workspaces, ws)
		}
	}
	return all
}

// restore notes again what could not be stored.
func (r *register) restore(c change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.workspaces[c.ws]
	if n == nil || n.entries[c.name] == nil || n.entries[c.name].id != c.id {
		return
	}
	e := n.entries[c.name]
	e.stored = time.Time{}
	if c.sample != nil && !n.merge(e, c.sample) {
		n.bytes -= len(e.shapes) * shapeSize
		e.shapes = nil // The samples are taken again.
	}
}
