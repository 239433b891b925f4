package command

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/update"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// bulkTotals are the totals of a bulkWrite.
type bulkTotals struct {
	errors, inserted, matched, modified, upserted, deleted int64
}

// bulkWrite is the client-level command: writes to any number of collections.
func (s *Service) bulkWrite(r *request) (*value.Builder, error) {
	ops, ordered, wait, err := r.batch("ops")
	if err != nil {
		return nil, err
	}
	infos, err := r.docs("nsInfo")
	if err != nil {
		return nil, err
	}
	spaces := make([][2]string, len(infos))
	for i, d := range infos {
		db, coll, ok := strings.Cut(d.Get("ns").Str(), ".")
		if !ok {
			return nil, mongoerr.New(mongoerr.InvalidNamespace, "nsInfo names %q", d.Get("ns").Str())
		}
		spaces[i] = [2]string{db, coll}
	}
	w := s.e.Begin(wait, true)
	defer w.Release()
	var t bulkTotals
	var results []value.Doc
	for i, op := range ops {
		kind, v := op.First()
		n, ok := v.Int()
		if !ok || n < 0 || n >= int64(len(spaces)) {
			return nil, mongoerr.New(mongoerr.BadValue, "operation %d refers to the namespace %s, which nsInfo does not have", i, value.Format(v))
		}
		b := value.NewBuilder()
		err := s.bulkOne(r, w, spaces[n], kind, op, &t, b, int32(i))
		if err != nil {
			t.errors++
			e := asError(err)
			b = value.NewBuilder().Add("ok", value.OfDouble(0)).Int32("idx", int32(i)).Int32("code", e.Code).
				Add("errmsg", value.OfString(e.Message)).Int32("n", 0)
			addKeys(b, e)
			results = append(results, b.Done())
			if ordered {
				break
			}
			continue
		}
		if !r.get("errorsOnly").Truthy() {
			results = append(results, b.Done())
		}
	}
	if err := w.Wait(); err != nil {
		return nil, err
	}
	b, err := s.list(r, "admin.$cmd.bulkWrite", results)
	if err != nil {
		return nil, err
	}
	return b.Add("nErrors", value.OfInt(t.errors)).Add("nInserted", value.OfInt(t.inserted)).Add("nMatched", value.OfInt(t.matched)).
		Add("nModified", value.OfInt(t.modified)).Add("nUpserted", value.OfInt(t.upserted)).Add("nDeleted", value.OfInt(t.deleted)), nil
}

func (s *Service) bulkOne(r *request, w *storage.Commit, ns [2]string, kind string, op value.Doc, t *bulkTotals, b *value.Builder, i int32) error {
	b.Add("ok", value.OfDouble(1)).Int32("idx", i)
	switch kind {
	case "insert":
		d := op.Get("document")
		if d.T != bson.TypeEmbeddedDocument {
			return mongoerr.New(mongoerr.TypeMismatch, "insert needs a document")
		}
		if err := s.insertOne(w, ns[0], ns[1], d.Doc()); err != nil {
			return err
		}
		t.inserted++
		b.Int32("n", 1)
		return nil
	case "update", "delete":
	default:
		return mongoerr.NotImplemented("bulkWrite operation %q", kind)
	}
	ch, err := r.compileBulk(kind, op)
	if err != nil {
		return err
	}
	out, err := s.modifyOrInsert(r, w, ns[0], ns[1], ch)
	if err != nil {
		return err
	}
	if kind == "delete" {
		t.deleted += out.matched
		b.Add("n", value.OfInt(out.matched))
		return nil
	}
	t.matched, t.modified = t.matched+out.matched, t.modified+out.modified
	if !out.upserted.IsMissing() {
		t.upserted++
		b.Int32("n", 1).Int32("nModified", 0).Add("upserted", value.OfDoc(value.NewBuilder().Add("_id", out.upserted).Done()))
		return nil
	}
	b.Add("n", value.OfInt(out.matched)).Add("nModified", value.OfInt(out.modified))
	return nil
}

func (r *request) compileBulk(kind string, op value.Doc) (*change, error) {
	ch := &change{}
	var u value.Value
	var filters []value.Doc
	it := op.Iter()
	it.Next()
	for {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		var err error
		switch name := string(k); {
		case name == "filter":
			ch.filter, err = r.filter(v, name)
		case name == "multi":
			ch.many = v.Truthy()
		case name == "hint":
			ch.hint = v
		case name == "collation":
			err = checkCollation(v)
		case kind == "update" && name == "updateMods":
			u = v
		case kind == "update" && name == "upsert":
			ch.upsert = v.Truthy()
		case kind == "update" && name == "sort":
			ch.sort, err = sortOf(v)
		case kind == "update" && name == "arrayFilters":
			filters, err = docList(name, v)
		default:
			err = mongoerr.NotImplemented("bulkWrite %s option %q", kind, name)
		}
		if err != nil {
			return nil, err
		}
	}
	if ch.filter == nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "a bulkWrite %s needs a filter", kind)
	}
	if kind == "delete" {
		return ch, nil
	}
	var err error
	if ch.update, err = update.Compile(u, filters, r.now); err == nil && ch.many && ch.update.IsReplacement() {
		err = mongoerr.New(mongoerr.FailedToParse, "multi update is not supported for replacement-style update")
	}
	return ch, err
}
