package storage

import (
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Reader reads a collection as it was at one moment: its documents and index entries. A query is planned and executed with one
// Reader, so its plan and each of its numbers belong to the same state, whatever is written and dropped meanwhile.
//
//	list of indexes ─▶ state of the store ─▶ Indexes, View
//
// It must be closed, and belongs to one goroutine at a time.
type Reader struct {
	*Collection
	complete []*Index // Those whose entries the state has.
	state    *pebble.Iterator
	views    []*View // The open views.
}

// Reader starts a consistent read. The caller closes it.
//
// The state may lack the arrays of which Index.Multikey tells, as writes go on. It never has arrays of which Multikey does not tell.
func (c *Collection) Reader() (*Reader, error) {
	for {
		drops := c.drops.Load()
		r := &Reader{Collection: c, complete: c.Indexes()}
		// Indexes are complete before they are listed, so the state that follows has them.
		state, err := c.e.db.NewIter(&pebble.IterOptions{LowerBound: c.DocPrefix(), UpperBound: Successor(c.DocPrefix())})
		if err != nil {
			return nil, storageError(err)
		}
		if r.state = state; c.drops.Load() == drops {
			return r, nil
		}
		// The state may lack entries of a listed index: a drop began in between.
		if err := state.Close(); err != nil {
			return nil, storageError(err)
		}
	}
}

// Indexes lists the complete indexes, the _id index first. The caller must not modify the list.
func (r *Reader) Indexes() []*Index { return r.complete }

// View opens iterators of the state. The caller closes it; the Reader closes those that a failed command leaves.
func (r *Reader) View() *View {
	v := &View{r: r}
	r.views = append(r.views, v)
	return v
}

// Close releases the state. A nil Reader has none.
func (r *Reader) Close() error {
	if r == nil {
		return nil
	}
	var err error
	for _, v := range slices.Clone(r.views) {
		err = errors.Join(err, v.Close())
	}
	return errors.Join(err, storageError(r.state.Close()))
}

// View is a set of iterators of one Reader, which are closed together. It belongs to the Reader's goroutine.
type View struct {
	r    *Reader
	docs *pebble.Iterator
	all  []*pebble.Iterator
	key  []byte
}

// Iter opens an iterator. The view closes it.
func (v *View) Iter(lower, upper []byte) (*pebble.Iterator, error) {
	it, err := v.r.state.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{LowerBound: lower, UpperBound: upper}})
	if err != nil {
		return nil, storageError(err)
	}
	v.all = append(v.all, it)
	return it, nil
}

// Docs opens an iterator over the documents themselves.
func (v *View) Docs() (*pebble.Iterator, error) {
	return v.Iter(v.r.DocPrefix(), Successor(v.r.DocPrefix()))
}

// Doc reads a document by its encoded _id; nil when there is none. The bytes are valid until the next call.
func (v *View) Doc(id []byte) (value.Doc, error) {
	if v.docs == nil {
		it, err := v.Docs()
		if err != nil {
			return nil, err
		}
		v.docs = it
	}
	v.key = append(append(v.key[:0], v.r.DocPrefix()...), id...)
	// The prefix is the whole key, so bloom filters skip most levels.
	if !v.docs.SeekPrefixGE(v.key) {
		return nil, storageError(v.docs.Error())
	}
	d, err := v.docs.ValueAndErr()
	return d, storageError(err)
}

// Close closes the iterators.
func (v *View) Close() error {
	var err error
	for _, it := range v.all {
		err = errors.Join(err, it.Close())
	}
	v.all, v.docs = nil, nil
	v.r.views = slices.DeleteFunc(v.r.views, func(open *View) bool { return open == v })
	return storageError(err)
}
