package command

import (
	"errors"
	"runtime"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// into finds or creates the collection and runs f on it. It retries when the collection was dropped in between.
func (s *Service) into(db, name string, f func(*storage.Collection) error) error {
	for {
		c, err := s.e.Collection(db, name)
		if err != nil {
			return err
		}
		if err = f(c); !errors.Is(err, storage.ErrDropped) {
			return err
		}
	}
}

// failures collects the errors of single writes.
type failures struct {
	list []value.Value
	stop bool
}

func (f *failures) add(i int, err error, ordered bool) {
	e := asError(err)
	b := value.NewBuilder().Int32("index", int32(i)).Int32("code", e.Code)
	addKeys(b, e)
	f.list = append(f.list, value.OfDoc(b.Add("errmsg", value.OfString(e.Message)).Done()))
	f.stop = ordered
}

func (f *failures) into(b *value.Builder) *value.Builder {
	if len(f.list) > 0 {
		b.Add("writeErrors", value.OfArray(f.list))
	}
	return b
}

// batch reads the writes of a command and whether the first error stops it.
func (r *request) batch(name string) (docs []value.Doc, ordered, wait bool, err error) {
	if docs, err = r.docs(name); err != nil {
		return nil, false, false, err
	}
	if len(docs) == 0 || len(docs) > maxBatch {
		return nil, false, false, mongoerr.New(mongoerr.InvalidLength, "write batch sizes must be between 1 and %d. Got %d operations.", maxBatch, len(docs))
	}
	wait, err = r.journal()
	v := r.get("ordered")
	return docs, v.IsMissing() || v.Truthy(), wait, err
}

func (s *Service) insert(r *request) (*value.Builder, error) {
	name, err := r.collection()
	if err != nil {
		return nil, err
	}
	docs, ordered, wait, err := r.batch("documents")
	if err != nil {
		return nil, err
	}
	w := s.e.Begin(wait, len(docs) > 1)
	defer w.Release()
	var fails failures
	n := int32(0)
	var errs []error
	for i := 0; i < len(docs) && !fails.stop; i += len(errs) {
		if i > 0 {
			runtime.Gosched() // The scheduler preempts only after ten milliseconds; on few processors other commands would wait so long.
		}
		errs = s.insertSome(r, w, name, docs[i:], ordered, errs[:0])
		for j, err := range errs {
			if err != nil {
				fails.add(i+j, err, ordered)
				continue
			}
			n++
		}
	}
	if err := w.Wait(); err != nil {
		return nil, err
	}
	return fails.into(value.NewBuilder().Int32("n", n)), nil
}

// insertSome inserts a leading part of the documents and appends one result for each of them to errs.
func (s *Service) insertSome(r *request, w *storage.Commit, name string, docs []value.Doc, ordered bool, errs []error) []error {
	if err := r.expired(); err != nil {
		return append(errs, err)
	}
	ready := 0
	for ready < min(len(docs), storage.MaxInserted) {
		d, err := withID(docs[ready])
		if err != nil && ready == 0 {
			return append(errs, err)
		}
		if err != nil {
			break
		}
		docs[ready] = d
		ready++
	}
	err := s.into(r.db, name, func(c *storage.Collection) (err error) {
		errs, err = c.InsertMany(w, docs[:ready], ordered, errs)
		return err
	})
	if err != nil {
		return append(errs, err)
	}
	return errs
}

// withID moves the _id to the front, generates a missing one, and checks the top-level field names.
func withID(d value.Doc) (value.Doc, error) {
	first, _ := d.First()
	id := value.Value{}
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		if len(k) > 0 && k[0] == '$' {
			return nil, mongoerr.New(mongoerr.DollarPrefixed, "the dollar ($) prefixed field '%s' is not valid at the top level of a document", k)
		}
		if string(k) == "_id" {
			if !id.IsMissing() {
				return nil, mongoerr.New(mongoerr.BadValue, "can't have multiple _id fields in one document")
			}
			id = v
		}
	}
	if first == "_id" {
		return d, nil
	}
	if id.IsMissing() {
		oid := bson.NewObjectID()
		id = value.Value{T: bson.TypeObjectID, B: oid[:]}
	}
	b := value.NewBuilder().Add("_id", id)
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			return b.Done(), nil
		}
		if string(k) != "_id" {
			b.AddKey(k, v)
		}
	}
}

func (s *Service) delete(r *request) (*value.Builder, error) {
	name, err := r.collection()
	if err != nil {
		return nil, err
	}
	docs, ordered, wait, err := r.batch("deletes")
	if err != nil {
		return nil, err
	}
	many := len(docs) > 1
	if n, _ := docs[0].Get("limit").Int(); n == 0 {
		many = true
	}
	w := s.e.Begin(wait, many)
	defer w.Release()
	var fails failures
	n := int64(0)
	for i, d := range docs {
		if i > 0 {
			runtime.Gosched() // As in insert.
		}
		op, err := r.compileDelete(d)
		if err == nil {
			var out outcome
			out, err = s.modify(r, w, s.e.Lookup(r.db, name), op)
			n += out.matched
		}
		if err != nil {
			if fails.add(i, err, ordered); fails.stop {
				break
			}
		}
	}
	if err := w.Wait(); err != nil {
		return nil, err
	}
	return fails.into(value.NewBuilder().Add("n", value.OfInt(n))), nil
}
