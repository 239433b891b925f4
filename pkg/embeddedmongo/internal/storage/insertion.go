package storage

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Bounds of one insert batch. Its document locks are held while it is written, and a batch that does not fit into the current
// memtable leaves the rest of that memtable unused.
const (
	MaxInserted      = 128
	maxInsertedBytes = 512 << 10
)

// insertion is one insert batch. No two of its documents share an _id or a key of a unique index, so their results are
// independent.
type insertion struct {
	c       *Collection
	ordered bool
	docs    []newDoc
	met     map[uint64]struct{} // Hashes of the _ids and unique keys of the batch.
	byID    []*newDoc           // The documents with a valid _id, ordered by it.

	docLocks, uniqueLocks []uint64

	// entries are the keys of one index that the batch adds, in memory that the next index reuses.
	entries [][]byte
	memory  []byte
}

// newDoc is a document to insert.
type newDoc struct {
	changes

	key    []byte
	err    error // Why it is not stored.
	broken error // Why it cannot be indexed; a duplicate _id takes precedence.
	stored bool  // It is in the batch.
	next   int   // The position in changes.per of the next index whose entries are to be written.
}

func (n *newDoc) reset() {
	n.changes.reset()
	n.key, n.err, n.broken, n.stored, n.next = nil, nil, nil, false, 0
}

// insertionPool reuses the slices of finished insertions.
var insertionPool = sync.Pool{New: func() any { return &insertion{met: map[uint64]struct{}{}} }}

func newInsertion(c *Collection, ordered bool) *insertion {
	in := insertionPool.Get().(*insertion)
	in.c, in.ordered = c, ordered
	return in
}

// release returns the insertion to its pool. The caller must not use it afterwards.
func (in *insertion) release() {
	for i := range in.docs {
		in.docs[i].reset()
	}
	clear(in.met)
	clear(in.byID)
	clear(in.entries)
	*in = insertion{
		docs: in.docs[:0], met: in.met, byID: in.byID[:0], docLocks: in.docLocks[:0], uniqueLocks: in.uniqueLocks[:0],
		entries: in.entries[:0], memory: in.memory[:0],
	}
	insertionPool.Put(in)
}

// gather takes as many leading documents as one batch may hold, and derives their index entries.
func (in *insertion) gather(docs []value.Doc) {
	docs = docs[:min(len(docs), MaxInserted)]
	in.docs = slices.Grow(in.docs, len(docs))
	size := 0
	for i, d := range docs {
		if size += len(d); i > 0 && size > maxInsertedBytes {
			break
		}
		in.docs = in.docs[:i+1]
		n := &in.docs[i]
		n.c, n.new = in.c, d
		n.key, n.err = in.c.documentKey(d)
		if n.err == nil {
			n.id = n.key[DocHeader:]
			n.broken = n.derive()
		}
		if in.meets(n) {
			n.reset()
			in.docs = in.docs[:i]
			break
		}
		if in.ordered && (n.err != nil || n.broken != nil) {
			break
		}
	}
	for i := range in.docs {
		if n := &in.docs[i]; n.err == nil {
			in.byID = append(in.byID, n)
		}
	}
	slices.SortFunc(in.byID, func(a, b *newDoc) int { return bytes.Compare(a.key, b.key) })
}

// meets reports whether the document shares its _id or a unique key with an earlier one of the batch, and otherwise records its
// own. It compares hashes: a collision only shortens the batch.
func (in *insertion) meets(n *newDoc) bool {
	if n.err != nil {
		return false
	}
	id := in.c.e.docs.hash(n.key)
	if _, met := in.met[id]; met {
		return true
	}
	for _, h := range n.unique {
		if _, met := in.met[h]; met {
			return true
		}
	}
	in.met[id] = struct{}{}
	for _, h := range n.unique {
		in.met[h] = struct{}{}
	}
	in.docLocks = append(in.docLocks, id)
	in.uniqueLocks = append(in.uniqueLocks, n.unique...)
	return false
}

func (in *insertion) lock() (unlock func()) {
	e := in.c.e
	in.docLocks = e.docs.lockAll(in.docLocks)
	in.uniqueLocks = e.unique.lockAll(in.uniqueLocks)
	return func() {
		e.unique.unlockAll(in.uniqueLocks)
		e.docs.unlockAll(in.docLocks)
	}
}

// findConflicts finds existing documents that conflict with the batch. The caller holds the locks, so no writer can add one later.
func (in *insertion) findConflicts() error {
	likely := 0 // How many have an _id within the range of the existing ones.
	for _, n := range in.byID {
		below, err := in.c.highest.below(in.c, n.id)
		if err != nil {
			return err
		}
		if below {
			break
		}
		likely++
	}
	if likely == 0 && len(in.uniqueLocks) == 0 {
		return nil
	}
	return in.c.probing(func(it *pebble.Iterator) error {
		for _, n := range in.byID[:likely] {
			if it.SeekPrefixGE(n.key) {
				n.err = duplicateKey(in.c, in.c.Indexes()[0], n.new, n.id)
			} else {
				n.err = storageError(it.Error())
			}
		}
		for i := range in.docs {
			if n := &in.docs[i]; n.err == nil && n.broken == nil {
				n.err = n.checkUnique(it)
			}
		}
		return nil
	})
}

// choose decides which documents are stored, and returns the processed ones.
func (in *insertion) choose() []newDoc {
	for i := range in.docs {
		n := &in.docs[i]
		if n.err == nil {
			n.err = n.broken
		}
		if n.err == nil {
			n.err = in.c.e.space.check(len(n.new))
		}
		if n.err != nil && in.ordered {
			return in.docs[:i+1]
		}
	}
	return in.docs
}

// write applies one batch with all documents that have no error. Its keys ascend, so the memtable finds the place of each beside that
// of the one before it.
func (in *insertion) write(w *Commit, docs []newDoc) error {
	size := 0
	for i := range docs {
		if n := &docs[i]; n.err == nil {
			n.stored = true
			size += len(n.new) + 512
		}
	}
	stored := slices.DeleteFunc(in.byID, func(n *newDoc) bool { return !n.stored })
	if len(stored) == 0 {
		return nil
	}
	b := in.c.e.db.NewBatchWithSize(size)
	var err error
	for _, n := range stored {
		err = errors.Join(err, b.Set(n.key, n.new, nil))
	}
	for _, ix := range (*in.c.maintained.Load())[1:] {
		err = errors.Join(err, in.writeEntries(b, ix, stored))
	}
	n := int64(len(stored))
	if err = errors.Join(err, in.c.addCount(b, n), in.c.highest.raise(in.c, stored[len(stored)-1].id)); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := w.apply(b); err != nil {
		return err
	}
	in.c.count.Add(n)
	return nil
}

// writeEntries adds the entries of the documents in one index to the batch. It is called for the indexes in their order.
func (in *insertion) writeEntries(b *pebble.Batch, ix *Index, docs []*newDoc) error {
	in.entries, in.memory = in.entries[:0], in.memory[:0]
	for _, n := range docs {
		if n.next == len(n.per) || n.per[n.next].ix != ix {
			continue
		}
		change := &n.per[n.next]
		n.next++
		for _, fields := range change.added {
			start := len(in.memory)
			in.memory = appendEntryKey(in.memory, change.header[:], fields, n.id)
			in.entries = append(in.entries, in.memory[start:])
		}
	}
	slices.SortFunc(in.entries, bytes.Compare)
	for _, key := range in.entries {
		if err := b.Set(key, nil, nil); err != nil {
			return err
		}
	}
	return nil
}
