package storage

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Rebuilt is what Rebuild has made of a damaged store.
type Rebuilt struct {
	// Damage describes the damaged files and keys.
	Damage []string
	// Unreadable is set when the whole store is the backup's, because nothing could be read.
	Unreadable  bool
	Collections []RebuiltCollection
}

// RebuiltCollection is what Rebuild has made of a damaged collection. Documents are named by their _id.
type RebuiltCollection struct {
	Namespace string
	Documents int64
	// FromBackup are as they were at the time of the backup. Lost are known from the indexes, or could not be stored beside the others.
	FromBackup, Lost []string
}

// Rebuild creates a store with everything that can be read in a damaged one. Documents that cannot be read are taken from a backup;
// empty means none. Indexes and counters are built again. The damaged store and the backup stay as they are.
func Rebuild(ctx context.Context, fs vfs.FS, dir, backup, to string) (r Rebuilt, err error) {
	if err := mustBeNew(fs, to); err != nil {
		return r, err
	}
	damaged, damage, err := openDamaged(fs, dir)
	r.Damage = damage
	switch {
	case err != nil && (backup == "" || errors.Is(err, ErrInUse) || errors.Is(err, os.ErrNotExist)):
		return r, fmt.Errorf("open damaged store %s: %w", dir, err)
	case err != nil:
		r.Unreadable, r.Damage = true, append(r.Damage, describe(err))
		return r, Restore(ctx, fs, backup, to)
	}
	defer func() { err = errors.Join(err, damaged.Close()) }()
	var earlier *Engine
	if backup != "" {
		if earlier, err = Open(backup, Options{FS: fs, ReadOnly: true}); err != nil {
			return r, fmt.Errorf("open backup: %w", err)
		}
		defer func() { err = errors.Join(err, earlier.Close()) }()
	}
	target, err := Open(to, Options{FS: fs})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	for _, c := range damaged.Collections("") {
		b := &rebuilding{ctx: ctx, from: c}
		if earlier != nil {
			b.backup = earlier.Lookup(c.DB, c.Name)
		}
		if err := b.rebuild(target); err != nil {
			return r, fmt.Errorf("rebuild %s.%s: %w", c.DB, c.Name, err)
		}
		r.Collections = append(r.Collections, b.done)
		for _, g := range b.gaps {
			r.Damage = append(r.Damage, fmt.Sprintf("%s.%s: %s", c.DB, c.Name, describe(g.cause)))
		}
	}
	return r, nil
}

// rebuilding copies one collection.
type rebuilding struct {
	ctx    context.Context
	from   *Collection
	backup *Collection // nil if there is none.
	to     *Collection
	gaps   []gap
	done   RebuiltCollection

	batch []value.Doc
	bytes int
}

// batchBytes bounds the documents that one write has.
const batchBytes = 1 << 20

func (b *rebuilding) rebuild(target *Engine) (err error) {
	c := b.from
	b.done.Namespace = namespace(c.DB, c.Name)
	if b.to, err = target.Collection(c.DB, c.Name); err != nil {
		return err
	}
	for _, ix := range c.Indexes()[1:] {
		spec := ix.Spec
		spec.Multikey = 0 // The inserted documents decide.
		if _, err := b.to.CreateIndex(b.ctx, spec, func() error { return nil }); err != nil {
			return fmt.Errorf("create index %s: %w", spec.Name, err)
		}
	}
	missing, gaps, err := c.readAround(b.ctx, b.backup, b.add)
	b.gaps = gaps
	if err != nil {
		return err
	}
	for _, id := range missing {
		var old value.Doc
		if b.backup != nil {
			if old, err = b.backup.Get(id); err != nil {
				return fmt.Errorf("read backup: %w", err)
			}
		}
		if old == nil {
			b.done.Lost = append(b.done.Lost, formatID(id))
			continue
		}
		b.done.FromBackup = append(b.done.FromBackup, formatID(id))
		if err := b.add(old); err != nil {
			return err
		}
	}
	return b.flush()
}

func (b *rebuilding) add(d value.Doc) error {
	b.batch = append(b.batch, bytes.Clone(d))
	if b.bytes += len(d); b.bytes < batchBytes {
		return nil
	}
	return b.flush()
}

// flush stores the batch durably. A document that conflicts with another one is lost: it is older than the other.
func (b *rebuilding) flush() error {
	w := b.to.e.Begin(true, true)
	defer w.Release()
	for rest := b.batch; len(rest) > 0; {
		errs, err := b.to.InsertMany(w, rest, false, nil)
		if err != nil {
			return err
		}
		for i, err := range errs {
			if err != nil {
				b.done.Lost = append(b.done.Lost, fmt.Sprintf("%s (%v)", value.Format(rest[i].Get("_id")), err))
				continue
			}
			b.done.Documents++
		}
		rest = rest[len(errs):]
	}
	b.batch, b.bytes = b.batch[:0], 0
	return w.Wait()
}

// readAround calls do with each document that can be read. It returns the gaps between their keys, and the encoded _ids of
// documents in the gaps: those that the indexes have, or the backup, which may be nil.
func (c *Collection) readAround(ctx context.Context, backup *Collection, do func(value.Doc) error) (missing [][]byte, gaps []gap, err error) {
	prefix := c.DocPrefix()
	gaps, err = c.e.readable(ctx, prefix, Successor(prefix), func(_, v []byte) error { return do(value.Doc(v)) })
	if err != nil || len(gaps) == 0 {
		return nil, gaps, err
	}
	ids := map[string]bool{}
	note := func(id []byte) {
		key := append(bytes.Clone(prefix), id...)
		if slices.ContainsFunc(gaps, func(g gap) bool { return g.has(key) }) {
			ids[string(id)] = true
		}
	}
	for _, ix := range c.Indexes()[1:] {
		all := c.IndexPrefix(ix)
		if _, err := c.e.readable(ctx, all, Successor(all), func(key, _ []byte) error { note(EntryID(key)); return nil }); err != nil {
			return nil, gaps, err
		}
	}
	if backup != nil {
		old := backup.DocPrefix()
		if _, err := backup.e.readable(ctx, old, Successor(old), func(key, _ []byte) error { note(key[len(old):]); return nil }); err != nil {
			return nil, gaps, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		key := append(bytes.Clone(prefix), id...)
		_, cause, err := c.e.readSome(ctx, key, append(bytes.Clone(key), 0), func(_, v []byte) error { return do(value.Doc(v)) })
		if err != nil {
			return nil, gaps, err
		}
		if cause != nil {
			missing = append(missing, []byte(id))
		}
	}
	return missing, gaps, nil
}

// formatID describes an encoded _id.
func formatID(id []byte) string {
	v, _, ok := value.ReadKey(id, false, nil)
	if !ok {
		return hex.EncodeToString(id)
	}
	return value.Format(v)
}
