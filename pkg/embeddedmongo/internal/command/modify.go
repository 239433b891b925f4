package command

import (
	"bytes"
	"errors"
	"runtime"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/plan"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/update"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// change is one compiled update or removal.
type change struct {
	versions bool // The outcome has the versions of the document before and after the change.
	filter   *filter.Filter
	sort     *index.Sort
	hint     value.Value
	many     bool
	upsert   bool
	update   *update.Update // nil removes.
}

// outcome is the result of a change. before and after are set for single changes that want them.
type outcome struct {
	matched, modified int64
	upserted          value.Value
	before, after     value.Doc
	pos               int
}

// attempts bounds the searches of a single change whose candidates concurrent writes take away.
const attempts = 1000

// modify executes a change on an existing collection; c may be nil.
func (s *Service) modify(r *request, w *storage.Commit, c *storage.Collection, ch *change) (out outcome, err error) {
	if c == nil {
		return out, nil
	}
	if id := exactID(ch.filter); id != nil {
		_, err := s.apply(r, w, c, id, ch, &out)
		return out, err
	}
	for range attempts {
		lost, err := s.pass(r, w, c, ch, &out)
		// Concurrent writes changed all candidates of a single change. Search again: another document may match now.
		if err != nil || !lost || ch.many || out.matched > 0 {
			return out, err
		}
		if err := r.expired(); err != nil {
			return out, err
		}
	}
	return out, mongoerr.New(mongoerr.Kind{Code: 112, Name: "WriteConflict"}, "the documents kept changing")
}

// exactID is the encoded _id when the filter fixes it by equality: then no search is needed.
func exactID(f *filter.Filter) []byte {
	for _, n := range f.Conjuncts() {
		if l, ok := n.(*filter.Leaf); ok && l.Path == "_id" && l.Op == filter.Eq && l.Value.T != bson.TypeArray && !l.Value.IsNullish() {
			return value.AppendKey(nil, l.Value, false)
		}
	}
	return nil
}

// pass searches once and changes the matches. lost reports that a candidate no longer matched under its lock.
func (s *Service) pass(r *request, w *storage.Commit, c *storage.Collection, ch *change, out *outcome) (lost bool, err error) {
	q := plan.Query{Filter: ch.filter, Sort: ch.sort, Hint: ch.hint, Early: !ch.many, Expired: r.expired}
	if !ch.many && ch.sort != nil {
		q.Limit = 1
	}
	rd, err := c.Reader()
	if err != nil {
		return false, err
	}
	defer rd.Close()
	p, err := plan.New(rd, q)
	if err != nil {
		return false, err
	}
	run, err := p.Run()
	if err != nil {
		return false, err
	}
	defer run.Close()
	for {
		row, ok, err := run.Next()
		if err != nil || !ok {
			return lost, err
		}
		if ch.many {
			runtime.Gosched() // As in insert.
		}
		hit, err := s.apply(r, w, c, bytes.Clone(row.ID), ch, out)
		if err != nil {
			return lost, err
		}
		if hit && !ch.many {
			return false, nil
		}
		lost = lost || !hit
	}
}

// apply changes one document if, under its lock, it still matches.
func (s *Service) apply(r *request, w *storage.Commit, c *storage.Collection, id []byte, ch *change, out *outcome) (hit bool, err error) {
	modified := ch.update == nil
	memory := documents.Get().(*[]byte)
	defer documents.Put(memory)
	err = c.Modify(w, id, func(old value.Doc) (value.Doc, storage.Action, error) {
		ok, pos := ch.filter.MatchPosition(old)
		if !ok {
			return nil, storage.Keep, nil
		}
		hit = true
		if ch.update == nil {
			if ch.versions {
				out.before = bytes.Clone(old)
			}
			return nil, storage.Delete, nil
		}
		d, err := ch.update.Apply(old, update.Context{Now: r.now, Pos: pos, Memory: memory})
		if err != nil {
			return nil, storage.Keep, err
		}
		if err := checkUpdated(d); err != nil {
			return nil, storage.Keep, err
		}
		modified = &d[0] != &old[0]
		if ch.versions {
			out.before, out.after, out.pos = bytes.Clone(old), bytes.Clone(d), pos
		}
		if !modified {
			return nil, storage.Keep, nil
		}
		return d, storage.Replace, nil
	})
	if errors.Is(err, storage.ErrDropped) {
		return false, nil
	}
	if err != nil || !hit {
		return false, err
	}
	out.matched++
	if modified {
		out.modified++
	}
	return true, nil
}

// documents reuses the memory of changed documents: the store copies them.
var documents = sync.Pool{New: func() any { return new([]byte) }}

// checkUpdated rejects an update whose result is not valid BSON.
func checkUpdated(d value.Doc) error {
	if err := value.Validate(d); err != nil {
		return mongoerr.New(mongoerr.BadValue, "the update makes an invalid document: %v", err)
	}
	return nil
}

// upsertAttempts bounds the retries of an upsert that collides with a concurrent upsert.
const upsertAttempts = 4

// modifyOrInsert executes a change and, for an upsert without a match, inserts.
func (s *Service) modifyOrInsert(r *request, w *storage.Commit, db, name string, ch *change) (out outcome, err error) {
	for try := 1; ; try++ {
		out, err = s.modify(r, w, s.e.Lookup(db, name), ch)
		if err != nil || out.matched > 0 || !ch.upsert {
			return out, err
		}
		d, err := ch.update.Seed(ch.filter)
		if err != nil {
			return out, err
		}
		if d, err = ch.update.Apply(d, update.Context{Now: r.now, Insert: true, Pos: -1}); err != nil {
			return out, err
		}
		if d, err = withID(d); err != nil {
			return out, err
		}
		if err := checkUpdated(d); err != nil {
			return out, err
		}
		err = s.into(db, name, func(c *storage.Collection) error { return c.Insert(w, d) })
		if err == nil {
			out.upserted, out.after = d.Get("_id"), d
			return out, nil
		}
		// The filter may match the conflicting document now.
		if !mongoerr.Is(err, mongoerr.DuplicateKeyKind) || try == upsertAttempts {
			return out, err
		}
	}
}
