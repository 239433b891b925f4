package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Register records what clients did to the state of one run, to check afterwards that all of it is linearizable: there is one
// order of all writes that each answer agrees with, and in which nothing precedes what had ended before it began.
//
// The history of the run is that order. A write names itself in the state's message, so a write without an answer is found as
// well: it took place at most once, at any moment after it began.
type Register struct {
	clock  atomic.Int64
	mu     sync.Mutex
	writes map[string]*operation
	reads  []*operation
	number int
}

// operation is one request. Times are readings of the register's clock.
type operation struct {
	name       string // The write's own, or that of the write whose state was read.
	begin, end int64  // end is 0 without an answer.
}

// NewRegister returns a register without operations.
func NewRegister() *Register { return &Register{writes: map[string]*operation{}} }

// Write begins a write and returns its name and what ends it: answered reports whether the server acknowledged it, refused
// whether it answered that it did nothing.
func (r *Register) Write() (name string, done func(answered, refused bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
	w := &operation{name: fmt.Sprintf("write %d", r.number), begin: r.clock.Add(1)}
	r.writes[w.name] = w
	return w.name, func(answered, refused bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case refused:
			delete(r.writes, w.name)
		case answered:
			w.end = r.clock.Add(1)
		}
	}
}

// Read begins a read and returns what ends it with the name of the write whose state was read. An empty name is the state of
// the run's creation.
func (r *Register) Read() (done func(name string)) {
	begin := r.clock.Add(1)
	return func(name string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.reads = append(r.reads, &operation{name: name, begin: begin, end: r.clock.Add(1)})
	}
}

// Size returns the number of operations.
func (r *Register) Size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.writes) + len(r.reads)
}

// Check compares the operations with the history of the run: the names of its writes in their order. It returns what cannot
// be.
func (r *Register) Check(history []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var wrong []string
	position := map[string]int{"": 0}
	latest := int64(0) // The latest beginning among the writes so far.
	begins := []int64{0}
	for i, name := range history {
		w := r.writes[name]
		if _, twice := position[name]; twice || w == nil {
			wrong = append(wrong, fmt.Sprintf("%q is in the history twice, or nobody wrote it", name))
			continue
		}
		position[name] = i + 1
		if w.end > 0 && w.end < latest {
			wrong = append(wrong, fmt.Sprintf("%s had ended before a write ahead of it began", name))
		}
		latest = max(latest, w.begin)
		begins = append(begins, w.begin)
	}
	for name, w := range r.writes {
		if _, there := position[name]; w.end > 0 && !there {
			wrong = append(wrong, fmt.Sprintf("%s was acknowledged and is lost", name))
		}
	}
	for _, read := range r.reads {
		at, there := position[read.name]
		if !there {
			wrong = append(wrong, fmt.Sprintf("a read returned %q, which is not in the history", read.name))
			continue
		}
		if begins[at] > read.end {
			wrong = append(wrong, fmt.Sprintf("a read returned %s before it began", read.name))
		}
		for name, w := range r.writes {
			if w.end > 0 && w.end < read.begin && position[name] > at {
				wrong = append(wrong, fmt.Sprintf("a read returned %q although %s had ended before", read.name, name))
				break
			}
		}
	}
	return append(wrong, r.checkReads(position)...)
}

// checkReads checks that no read returned an older state than a read that had ended before it began.
func (r *Register) checkReads(position map[string]int) []string {
	var wrong []string
	for i, earlier := range r.reads {
		for _, later := range r.reads[i+1:] {
			if earlier.end < later.begin && position[earlier.name] > position[later.name] {
				wrong = append(wrong, fmt.Sprintf("a read returned %q after another had returned %q", later.name, earlier.name))
			}
		}
	}
	return wrong
}
