package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// CollectionReport is what a check found in one collection.
type CollectionReport struct {
	Namespace string
	Documents int64
	Indexes   int
	Entries   int64 // Index entries, the _id index not counted.
	// Unreadable counts the documents that indexes list and that cannot be read.
	Unreadable int64
	Problems   []string
}

// maxProblems bounds the described problems of one collection.
const maxProblems = 100

// Check reads all data. Each document must be well-formed, stored under its own _id, have exactly its index entries, violate no
// unique index and be counted. Reading also verifies block checksums. Unreadable parts of a collection are among its problems, and
// documents, indexes and counters are then not compared. Writes may continue meanwhile; counters are then not compared either.
func (e *Engine) Check(ctx context.Context) ([]CollectionReport, error) {
	var out []CollectionReport
	for _, c := range e.Collections("") {
		r, err := c.check(ctx)
		if err != nil && ctx.Err() == nil && e.Failure() == nil {
			r, err = c.checkAround(ctx)
		}
		if err != nil {
			return out, fmt.Errorf("check %s.%s: %w", c.DB, c.Name, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// CheckDamaged is Check of a directory that no process has open, although files may be damaged. It describes those that kept it from
// being opened.
func CheckDamaged(ctx context.Context, fs vfs.FS, dir string) (list []CollectionReport, damage []string, err error) {
	e, damage, err := openDamaged(fs, dir)
	if err != nil {
		return nil, damage, err
	}
	list, err = e.Check(ctx)
	return list, damage, errors.Join(err, e.Close())
}

// checkAround lists what of a collection cannot be read.
func (c *Collection) checkAround(ctx context.Context) (CollectionReport, error) {
	indexes := c.Indexes()[1:]
	k := &checker{c: c, r: CollectionReport{Namespace: namespace(c.DB, c.Name), Indexes: len(indexes) + 1}}
	missing, gaps, err := c.readAround(ctx, nil, func(value.Doc) error { k.r.Documents++; return nil })
	if err != nil {
		return k.r, err
	}
	for _, g := range gaps {
		k.problem("documents cannot be read: %s", describe(g.cause))
	}
	for _, ix := range indexes {
		all := c.IndexPrefix(ix)
		gaps, err := c.e.readable(ctx, all, Successor(all), func([]byte, []byte) error { k.r.Entries++; return nil })
		if err != nil {
			return k.r, err
		}
		for _, g := range gaps {
			k.problem("index %s cannot be read: %s", ix.Spec.Name, describe(g.cause))
		}
	}
	k.r.Unreadable = int64(len(missing))
	for _, id := range missing {
		k.problem("document %s cannot be read", formatID(id))
	}
	if len(k.r.Problems) == 0 {
		k.problem("the counters cannot be read")
	}
	return k.r, nil
}

type checker struct {
	c    *Collection
	r    CollectionReport
	want map[*Index]int64
}

func (k *checker) problem(format string, args ...any) {
	if len(k.r.Problems) < maxProblems {
		k.r.Problems = append(k.r.Problems, fmt.Sprintf(format, args...))
	}
}

func (c *Collection) check(ctx context.Context) (CollectionReport, error) {
	// The exclusive lock gives one state of documents, entries and counters; it is released before the reading.
	c.mu.Lock()
	snap := c.e.db.NewSnapshot()
	indexes := c.Indexes()[1:]
	memory := c.Count()
	k := &checker{c: c, want: map[*Index]int64{}}
	c.mu.Unlock()
	defer snap.Close()
	k.r = CollectionReport{Namespace: namespace(c.DB, c.Name), Indexes: len(indexes) + 1}
	if err := k.documents(ctx, snap, indexes); err != nil {
		return k.r, storageError(err)
	}
	for _, ix := range indexes {
		if err := k.entries(ctx, snap, ix); err != nil {
			return k.r, storageError(err)
		}
	}
	stored, err := snapCounter(snap, tagged(tagCount, c.ID))
	if err != nil {
		return k.r, storageError(err)
	}
	if stored != k.r.Documents || memory != k.r.Documents {
		k.problem("there are %d documents, but the counter on disk says %d and the one in memory %d", k.r.Documents, stored, memory)
	}
	return k.r, nil
}

func (k *checker) documents(ctx context.Context, snap *pebble.Snapshot, indexes []*Index) error {
	lo := k.c.DocPrefix()
	it, err := snap.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: Successor(lo)})
	if err != nil {
		return err
	}
	defer it.Close()
	all := tagged(tagIndex, k.c.ID)
	entries, err := snap.NewIter(&pebble.IterOptions{LowerBound: all, UpperBound: Successor(all)})
	if err != nil {
		return err
	}
	defer entries.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if k.r.Documents++; k.r.Documents&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		id := it.Key()[len(lo):]
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		d := value.Doc(v)
		if err := value.Validate(d); err != nil {
			k.problem("document with key %x: %v", id, err)
			continue
		}
		if got := value.AppendKey(nil, d.Get("_id"), false); !bytes.Equal(got, id) {
			k.problem("document %s is stored under another _id", value.Format(d.Get("_id")))
		}
		for _, ix := range indexes {
			if err := k.document(entries, ix, id, d); err != nil {
				return err
			}
		}
	}
	return it.Error()
}

// document checks that the entries of a document exist in one index. It iterates, because filters lack index entries.
func (k *checker) document(entries *pebble.Iterator, ix *Index, id []byte, d value.Doc) error {
	ks, err := ix.entries(d)
	if err != nil {
		k.problem("document %s cannot be in index %s: %v", value.Format(d.Get("_id")), ix.Spec.Name, err)
		return nil
	}
	if ks.Multikey&^ix.Multikey() != 0 {
		k.problem("index %s is not marked multikey, but document %s has an array", ix.Spec.Name, value.Format(d.Get("_id")))
	}
	header := k.c.IndexPrefix(ix)
	for _, f := range ks.Keys {
		k.want[ix]++
		key := entryKey(header, f, id)
		if entries.SeekGE(key) && bytes.Equal(entries.Key(), key) {
			continue
		}
		if err := entries.Error(); err != nil {
			return err
		}
		k.problem("document %s has no entry in index %s", value.Format(d.Get("_id")), ix.Spec.Name)
	}
	return nil
}

// entries compares the number of entries with the expected one. As none is missing, an equal number means that none is stale.
func (k *checker) entries(ctx context.Context, snap *pebble.Snapshot, ix *Index) error {
	header := k.c.IndexPrefix(ix)
	it, err := snap.NewIter(&pebble.IterOptions{LowerBound: header, UpperBound: Successor(header)})
	if err != nil {
		return err
	}
	defer it.Close()
	n := int64(0)
	var last []byte
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		f := EntryFields(it.Key())
		if ix.Spec.Unique && last != nil && bytes.Equal(last, f) {
			k.problem("unique index %s holds a key twice", ix.Spec.Name)
		}
		last = append(last[:0], f...)
	}
	if err := it.Error(); err != nil {
		return err
	}
	k.r.Entries += n
	if n != k.want[ix] {
		k.problem("index %s has %d entries, the documents have %d", ix.Spec.Name, n, k.want[ix])
	}
	return nil
}

func snapCounter(snap *pebble.Snapshot, key []byte) (int64, error) {
	v, closer, err := snap.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	return readCounter(v)
}
