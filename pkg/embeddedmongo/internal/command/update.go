package command

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/update"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// compileDelete reads one element of a delete command.
func (r *request) compileDelete(d value.Doc) (*change, error) {
	op := &change{}
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		var err error
		switch string(k) {
		case "q":
			op.filter, err = r.filter(v, "q")
		case "limit":
			n, ok := v.Int()
			if !ok || n < 0 || n > 1 {
				err = mongoerr.New(mongoerr.FailedToParse, "the limit field in delete objects must be 0 or 1. Got %s", value.Format(v))
			}
			op.many = n == 0
		case "hint":
			op.hint = v
		case "collation":
			err = checkCollation(v)
		default:
			err = mongoerr.NotImplemented("delete option %q", k)
		}
		if err != nil {
			return nil, err
		}
	}
	if op.filter == nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "a delete needs q")
	}
	return op, nil
}

// compileUpdate reads one element of an update command.
func (r *request) compileUpdate(d value.Doc) (*change, error) {
	op := &change{}
	var u value.Value
	var filters []value.Doc
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		var err error
		switch string(k) {
		case "q":
			op.filter, err = r.filter(v, "q")
		case "u":
			u = v
		case "multi":
			op.many = v.Truthy()
		case "upsert":
			op.upsert = v.Truthy()
		case "arrayFilters":
			filters, err = docList("arrayFilters", v)
		case "hint":
			op.hint = v
		case "sort":
			op.sort, err = sortOf(v)
		case "collation":
			err = checkCollation(v)
		case "upsertSupplied":
		default:
			err = mongoerr.NotImplemented("update option %q", k)
		}
		if err != nil {
			return nil, err
		}
	}
	if op.filter == nil || u.IsMissing() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "an update needs q and u")
	}
	var err error
	if op.update, err = update.Compile(u, filters); err != nil {
		return nil, err
	}
	if op.many && op.update.IsReplacement() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "multi update is not supported for replacement-style update")
	}
	return op, nil
}

func (s *Service) update(r *request) (*value.Builder, error) {
	name, err := r.collection()
	if err != nil {
		return nil, err
	}
	docs, ordered, wait, err := r.batch("updates")
	if err != nil {
		return nil, err
	}
	many := len(docs) > 1 || docs[0].Get("multi").Truthy()
	w := s.e.Begin(wait, many)
	defer w.Release()
	var fails failures
	var upserted []value.Value
	var matched, modified int64
	for i, d := range docs {
		op, err := r.compileUpdate(d)
		if err == nil {
			var out outcome
			if out, err = s.modifyOrInsert(r, w, r.db, name, op); err == nil {
				// Changes of a failed multi update before its error are not counted.
				matched, modified = matched+out.matched, modified+out.modified
			}
			if err == nil && !out.upserted.IsMissing() {
				matched++
				upserted = append(upserted, value.OfDoc(value.NewBuilder().Int32("index", int32(i)).Add("_id", out.upserted).Done()))
			}
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
	b := value.NewBuilder().Add("n", value.OfInt(matched)).Add("nModified", value.OfInt(modified))
	if len(upserted) > 0 {
		b.Add("upserted", value.OfArray(upserted))
	}
	return fails.into(b), nil
}

func (s *Service) findAndModify(r *request) (*value.Builder, error) {
	name, err := r.collection()
	if err != nil {
		return nil, err
	}
	wait, err := r.journal()
	if err != nil {
		return nil, err
	}
	ch := &change{versions: true, hint: r.get("hint"), upsert: r.get("upsert").Truthy()}
	if ch.filter, err = r.filter(r.get("query"), "query"); err != nil {
		return nil, err
	}
	if ch.sort, err = sortOf(r.get("sort")); err != nil {
		return nil, err
	}
	proj, err := projection(r.get("fields"))
	if err != nil {
		return nil, err
	}
	after := r.get("new").Truthy()
	if r.get("remove").Truthy() {
		if !r.get("update").IsMissing() || ch.upsert || after {
			return nil, mongoerr.New(mongoerr.FailedToParse, "cannot specify update, upsert or new with remove: true")
		}
	} else {
		var filters []value.Doc
		if v := r.get("arrayFilters"); v.T == bson.TypeArray {
			if filters, err = docList("arrayFilters", v); err != nil {
				return nil, err
			}
		}
		if r.get("update").IsMissing() {
			return nil, mongoerr.New(mongoerr.FailedToParse, "either an update or remove: true must be specified")
		}
		if ch.update, err = update.Compile(r.get("update"), filters); err != nil {
			return nil, err
		}
	}
	w := s.e.Begin(wait, false)
	defer w.Release()
	out, err := s.modifyOrInsert(r, w, r.db, name, ch)
	if werr := w.Wait(); err == nil {
		err = werr
	}
	if err != nil {
		return nil, err
	}
	return findAndModifyReply(ch, out, proj, after)
}
