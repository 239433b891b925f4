package storage

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Insert stores a new document. A document with its _id, or with a key of a unique index, must not exist: DuplicateKey.
func (c *Collection) Insert(w *Commit, d value.Doc) error {
	var room [1]error
	errs, err := c.InsertMany(w, []value.Doc{d}, true, room[:0])
	return errors.Join(append(errs, err)...)
}

// InsertMany stores as many leading documents as one batch holds. It appends one result for each of them to errs, at least one: nil
// for a stored document. With ordered it stops at the first error.
func (c *Collection) InsertMany(w *Commit, docs []value.Doc, ordered bool, errs []error) ([]error, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.dropped {
		return errs, ErrDropped
	}
	in := newInsertion(c, ordered)
	defer in.release()
	in.gather(docs)
	defer in.lock()()
	err := in.findConflicts()
	done := in.choose()
	if err == nil {
		err = in.write(w, done)
	}
	for i := range done {
		if done[i].err == nil {
			done[i].err = err
		}
		errs = append(errs, done[i].err)
	}
	return errs, nil
}

// documentKey returns the key of a document after checking its _id, size and depth.
func (c *Collection) documentKey(d value.Doc) ([]byte, error) {
	v := d.Get("_id")
	switch v.T {
	case value.Missing, bson.TypeUndefined:
		return nil, mongoerr.New(mongoerr.InvalidIDField, "the document has no _id")
	case bson.TypeArray, bson.TypeRegex:
		return nil, mongoerr.New(mongoerr.InvalidIDField, "the '_id' value cannot be of type %s", value.TypeName(v.T))
	}
	if err := checkDocument(d, insertTooLarge); err != nil {
		return nil, err
	}
	k := value.AppendKey(c.DocPrefix(), v, false)
	if len(k)-DocHeader > maxIDKey {
		return nil, mongoerr.New(mongoerr.BadValue, "the _id is too long")
	}
	return k, nil
}
