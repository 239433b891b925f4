package command

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/aggregate"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/plan"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/project"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// rows streams a plan's results, projected.
type rows struct {
	r    *plan.Rows
	q    *filter.Filter
	proj *project.Projection
	now  int64
}

func (s *rows) Next() (value.Doc, bool, error) {
	row, ok, err := s.r.Next()
	if err != nil || !ok {
		return nil, false, err
	}
	if s.proj == nil {
		return row.Doc, true, nil
	}
	pos := -1
	if s.proj.Positions {
		_, pos = s.q.MatchPosition(row.Doc)
	}
	d, err := s.proj.Apply(row.Doc, pos)
	return d, err == nil, err
}

// lookup finds the collection that a read command names; nil when it does not exist.
func (s *Service) lookup(r *request) (*storage.Collection, string, error) {
	name, err := r.collection()
	if err != nil {
		return nil, "", err
	}
	return s.e.Lookup(r.db, name), r.db + "." + name, nil
}

// reader opens the collection that a read command names; nil when it does not exist. The caller closes it.
func (s *Service) reader(r *request) (rd *storage.Reader, ns string, err error) {
	c, ns, err := s.lookup(r)
	if c != nil && err == nil {
		rd, err = c.Reader()
	}
	return rd, ns, err
}

// findQuery reads the query of a find.
func findQuery(r *request) (q plan.Query, err error) {
	if q.Filter, err = r.filter(r.get("filter"), "filter"); err != nil {
		return q, err
	}
	if q.Sort, err = sortOf(r.get("sort")); err != nil {
		return q, err
	}
	if q.Skip, err = natural(r.get("skip"), "skip"); err != nil {
		return q, err
	}
	if q.Limit, err = natural(r.get("limit"), "limit"); err != nil {
		return q, err
	}
	q.Hint = r.get("hint")
	q.IDs = asksForIDs(r.get("projection"))
	q.Expired = r.expired
	return q, nil
}

func projection(v value.Value) (*project.Projection, error) {
	d, err := document(v, "projection")
	if err != nil || d.Empty() {
		return nil, err
	}
	return project.Compile(d, project.Options{Find: true})
}

// asksForIDs reports whether a projection is {_id: 1}.
func asksForIDs(v value.Value) bool {
	if v.T != bson.TypeEmbeddedDocument || v.Doc().Empty() {
		return false
	}
	it := v.Doc().Iter()
	k, include, _ := it.Next()
	_, _, more := it.Next()
	n, number := include.Int()
	return string(k) == "_id" && !more && (number && n != 0 || include.T == bson.TypeBoolean && include.Truthy())
}

func (s *Service) find(r *request) (b *value.Builder, err error) {
	c, ns, err := s.lookup(r)
	if err != nil {
		return nil, err
	}
	q, err := findQuery(r)
	if err != nil {
		return nil, err
	}
	proj, err := projection(r.get("projection"))
	if err != nil {
		return nil, err
	}
	size := int64(firstBatch)
	if q.ReturnKey = r.get("returnKey").Truthy(); q.ReturnKey {
		proj = nil // As MongoDB has it.
	}
	if v := r.get("batchSize"); !v.IsMissing() {
		if size, err = natural(v, "batchSize"); err != nil {
			return nil, err
		}
	}
	single := r.get("singleBatch").Truthy()
	if q.Limit > 0 && q.Limit < size {
		size = q.Limit
	}
	if c == nil {
		return s.list(r, ns, nil)
	}
	if id := exactID(q.Filter); id != nil && q.Hint.IsMissing() && q.Skip == 0 && !q.ReturnKey && size > 0 {
		return s.findByID(r, c, ns, id, q.Filter, proj)
	}
	cur := &cursor{r: r, ns: ns}
	defer func() { err = errors.Join(err, cur.release()) }()
	rd, err := c.Reader()
	if err != nil {
		return nil, err
	}
	cur.owns(rd.Close)
	q.Expired = cur.expired
	p, err := plan.New(rd, q)
	if err != nil {
		return nil, err
	}
	run, err := p.Run()
	if err != nil {
		return nil, err
	}
	cur.src = &rows{run, q.Filter, proj, r.now}
	return s.reply(cur, size, single)
}

// findByID is find for a filter that fixes the _id. It needs no plan and no iterator.
func (s *Service) findByID(
	r *request, c *storage.Collection, ns string, id []byte, f *filter.Filter, proj *project.Projection,
) (b *value.Builder, err error) {
	err = c.Read(id, func(d value.Doc) error {
		matches, pos := f.MatchPosition(d)
		if !matches {
			return nil
		}
		if proj != nil {
			if d, err = proj.Apply(d, pos); err != nil {
				return err
			}
		}
		b, err = s.list(r, ns, []value.Doc{d})
		return err
	})
	if err != nil || b != nil {
		return b, err
	}
	return s.list(r, ns, nil)
}

func (s *Service) pipeline(r *request) (*aggregate.Pipeline, error) {
	v := r.get("pipeline")
	if v.T != bson.TypeArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "a pipeline must be an array")
	}
	p, err := aggregate.Compile(v.Doc().Values())
	if err != nil {
		return nil, err
	}
	p.Query.Hint, p.Query.Expired = r.get("hint"), r.expired
	return p, nil
}

func (s *Service) aggregate(r *request) (b *value.Builder, err error) {
	if r.target.T != bson.TypeString {
		return nil, mongoerr.NotImplemented("aggregate without a collection")
	}
	p, err := s.pipeline(r)
	if err != nil {
		return nil, err
	}
	c, ns, err := s.reader(r)
	if err != nil {
		return nil, err
	}
	made := &cursor{r: r, ns: ns}
	defer func() { err = errors.Join(err, made.release()) }()
	made.owns(c.Close)
	p.Query.Expired = made.expired
	size := int64(firstBatch)
	cur := r.get("cursor")
	if cur.T != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "the 'cursor' option is required")
	}
	for it := cur.Doc().Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		if string(k) != "batchSize" {
			return nil, mongoerr.NotImplemented("cursor option %q", k)
		}
		if size, err = natural(v, "batchSize"); err != nil {
			return nil, err
		}
	}
	if p.CountField != "" {
		var n int64
		if c != nil {
			if n, _, _, err = plan.Count(c, p.Query); err != nil {
				return nil, err
			}
		}
		var out []value.Doc
		if n > 0 {
			out = append(out, value.NewBuilder().Add("_id", p.CountID).Add(p.CountField, value.OfInt(n)).Done())
		}
		return s.list(r, ns, out)
	}
	if c == nil {
		src := p.Run(&aggregate.Docs{})
		return s.reply(&cursor{r: r, ns: ns, src: src}, size, false)
	}
	if p.GroupPath != "" {
		vs, _, keys, err := plan.Groups(c, p.Query, p.GroupPath, p.GroupLimit)
		if err != nil {
			return nil, err
		}
		if keys != nil {
			src := make(aggregate.Docs, 0, len(vs))
			for _, v := range vs {
				src = append(src, value.NewBuilder().Add("_id", v).Done())
			}
			return s.reply(&cursor{r: r, ns: ns, src: &src}, size, false)
		}
	}
	pl, err := plan.New(c, p.Query)
	if err != nil {
		return nil, err
	}
	run, err := pl.Run()
	if err != nil {
		return nil, err
	}
	made.src = p.Run(&rows{r: run, q: p.Query.Filter, now: r.now})
	return s.reply(made, size, false)
}

// countQuery reads the query of a count; a negative limit means its magnitude.
func countQuery(r *request) (q plan.Query, err error) {
	if q.Filter, err = r.filter(r.get("query"), "query"); err != nil {
		return q, err
	}
	if q.Skip, err = natural(r.get("skip"), "skip"); err != nil {
		return q, err
	}
	if q.Limit, err = number(r.get("limit"), "limit"); err != nil {
		return q, err
	}
	q.Limit = max(q.Limit, -q.Limit)
	q.Hint, q.Expired = r.get("hint"), r.expired
	return q, nil
}

func (s *Service) count(r *request) (*value.Builder, error) {
	q, err := countQuery(r)
	if err != nil {
		return nil, err
	}
	c, _, err := s.reader(r)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var n int64
	if c != nil {
		if n, _, _, err = plan.Count(c, q); err != nil {
			return nil, err
		}
	}
	return value.NewBuilder().Add("n", value.OfInt(n)), nil
}

func distinctQuery(r *request) (q plan.Query, key string, err error) {
	if v := r.get("key"); v.T != bson.TypeString || v.Str() == "" {
		return q, "", mongoerr.New(mongoerr.TypeMismatch, "the field 'key' must be a non-empty string")
	}
	q.Filter, err = r.filter(r.get("query"), "query")
	q.Hint, q.Expired = r.get("hint"), r.expired
	return q, r.get("key").Str(), err
}

func (s *Service) distinct(r *request) (*value.Builder, error) {
	q, key, err := distinctQuery(r)
	if err != nil {
		return nil, err
	}
	c, _, err := s.reader(r)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var vs []value.Value
	if c != nil {
		if vs, _, _, err = plan.Distinct(c, q, key); err != nil {
			return nil, err
		}
	}
	values := value.OfArray(vs)
	if len(values.B) > storage.MaxDocument {
		return nil, mongoerr.New(mongoerr.Kind{Code: 17217, Name: "Location17217"}, "distinct too big, 16mb cap")
	}
	return value.NewBuilder().Add("values", values), nil
}
