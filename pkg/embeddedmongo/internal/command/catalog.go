package command

import (
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func (s *Service) create(r *request) (*value.Builder, error) {
	name, err := r.collection()
	if err != nil {
		return nil, err
	}
	if s.e.Lookup(r.db, name) != nil {
		return nil, mongoerr.New(mongoerr.NamespaceExists, "collection %s.%s already exists", r.db, name)
	}
	if _, err := s.e.Collection(r.db, name); err != nil {
		return nil, err
	}
	return value.NewBuilder(), s.e.Begin(true, true).Wait()
}

func (s *Service) drop(r *request) (*value.Builder, error) {
	c, ns, err := s.lookup(r)
	if err != nil {
		return nil, err
	}
	b := value.NewBuilder()
	if c == nil {
		return b, nil
	}
	return b.Int32("nIndexesWas", int32(len(c.Indexes()))).Add("ns", value.OfString(ns)), s.e.Drop(c)
}

func (s *Service) dropDatabase(r *request) (*value.Builder, error) {
	for _, c := range s.e.Collections(r.db) {
		if err := s.e.Drop(c); err != nil {
			return nil, err
		}
	}
	return value.NewBuilder().Add("dropped", value.OfString(r.db)), nil
}

// keep filters documents that are in memory.
func keep(docs []value.Doc, f *filter.Filter) []value.Doc {
	out := docs[:0]
	for _, d := range docs {
		if f.Match(d) {
			out = append(out, d)
		}
	}
	return out
}

func (s *Service) listCollections(r *request) (*value.Builder, error) {
	f, err := r.filter(r.get("filter"), "filter")
	if err != nil {
		return nil, err
	}
	if r.db == "" {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "no database")
	}
	var docs []value.Doc
	for _, c := range s.e.Collections(r.db) {
		b := value.NewBuilder().Add("name", value.OfString(c.Name)).Add("type", value.OfString("collection"))
		if !r.get("nameOnly").Truthy() {
			b.Add("options", value.OfDoc(value.EmptyDoc)).Add("info", value.Of(bson.D{{Key: "readOnly", Value: false}})).
				Add("idIndex", value.Of(bson.D{{Key: "v", Value: int32(2)}, {Key: "key", Value: bson.D{{Key: "_id", Value: int32(1)}}}, {Key: "name", Value: "_id_"}}))
		}
		docs = append(docs, b.Done())
	}
	docs = keep(docs, f)
	return s.list(r, r.db+".$cmd.listCollections", docs)
}

func (s *Service) listDatabases(r *request) (*value.Builder, error) {
	f, err := r.filter(r.get("filter"), "filter")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range s.e.Collections("") {
		if !slices.Contains(names, c.DB) {
			names = append(names, c.DB)
		}
	}
	var docs []value.Doc
	for _, n := range names {
		b := value.NewBuilder().Add("name", value.OfString(n))
		if !r.get("nameOnly").Truthy() {
			size, err := s.e.DiskUsage(n)
			if err != nil {
				return nil, err
			}
			b.Add("sizeOnDisk", value.OfInt64(size)).Add("empty", value.False)
		}
		docs = append(docs, b.Done())
	}
	docs = keep(docs, f)
	var vs []value.Value
	for _, d := range docs {
		vs = append(vs, value.OfDoc(d))
	}
	return value.NewBuilder().Add("databases", value.OfArray(vs)), nil
}

func (s *Service) createIndexes(r *request) (*value.Builder, error) {
	name, err := r.collection()
	if err != nil {
		return nil, err
	}
	docs, err := r.docs("indexes")
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "must specify at least one index to create")
	}
	var specs []storage.IndexSpec
	for _, d := range docs {
		spec, err := parseIndex(d)
		if err != nil {
			return nil, err
		}
		// All specifications are checked before the first index is built.
		if _, err := storage.NewIndex(spec); err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	existed := s.e.Lookup(r.db, name) != nil
	ctx, cancel := r.context()
	defer cancel()
	var before, after int
	r.takeTurns(s.longReads)
	defer r.slices.end()
	err = s.into(r.db, name, func(c *storage.Collection) error {
		before = len(c.Indexes())
		for _, spec := range specs {
			_, err := c.CreateIndex(ctx, spec, r.expired)
			r.slices.leave() // The next build may wait for one that waits for a turn.
			if err != nil {
				return errors.Join(r.ended(), err)
			}
		}
		after = len(c.Indexes())
		return nil
	})
	if err != nil {
		return nil, err
	}
	b := value.NewBuilder().Int32("numIndexesBefore", int32(before)).Int32("numIndexesAfter", int32(after)).
		Add("createdCollectionAutomatically", value.OfBool(!existed))
	if before == after {
		b.Add("note", value.OfString("all indexes already exist"))
	}
	return b, nil
}

func parseIndex(d value.Doc) (spec storage.IndexSpec, err error) {
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		switch string(k) {
		case "key":
			if v.T != bson.TypeEmbeddedDocument {
				return spec, mongoerr.New(mongoerr.TypeMismatch, "an index key pattern must be an object")
			}
			spec.Key = bson.Raw(v.B)
		case "name":
			spec.Name = v.Str()
		case "unique":
			spec.Unique = v.Truthy()
		case "sparse":
			spec.Sparse = v.Truthy()
		case "partialFilterExpression":
			if v.T != bson.TypeEmbeddedDocument {
				return spec, mongoerr.New(mongoerr.TypeMismatch, "partialFilterExpression must be an object")
			}
			spec.Partial = bson.Raw(v.B)
		case "expireAfterSeconds":
			n, ok := v.Int()
			if !ok || n < 0 || n > 1<<31-1 {
				return spec, mongoerr.New(mongoerr.CannotCreateIndex, "TTL index 'expireAfterSeconds' option must be within an acceptable range, not %s", value.Format(v))
			}
			spec.Expire = &n
		case "background", "ns":
			// Old options that MongoDB ignores since 4.2.
		case "v":
			if n, _ := v.Int(); n != 2 {
				return spec, mongoerr.NotImplemented("index version %s", value.Format(v))
			}
		case "hidden":
			if v.Truthy() {
				return spec, mongoerr.NotImplemented("index option \"hidden\"")
			}
		case "collation":
			err = checkCollation(v)
		default:
			err = mongoerr.NotImplemented("index option %q", k)
		}
		if err != nil {
			return spec, err
		}
	}
	if len(spec.Key) == 0 {
		return spec, mongoerr.New(mongoerr.FailedToParse, "the 'key' field is a required property of an index specification")
	}
	if spec.Name == "" {
		spec.Name = storage.DefaultIndexName(value.Doc(spec.Key))
	}
	return spec, nil
}

func (s *Service) listIndexes(r *request) (*value.Builder, error) {
	c, ns, err := s.lookup(r)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", ns)
	}
	var docs []value.Doc
	for _, ix := range c.Indexes() {
		b := value.NewBuilder().Int32("v", 2)
		if ix.Spec.Unique {
			b.Add("unique", value.True)
		}
		b.Add("key", value.OfDoc(value.Doc(ix.Spec.Key))).Add("name", value.OfString(ix.Spec.Name))
		if ix.Spec.Sparse {
			b.Add("sparse", value.True)
		}
		if len(ix.Spec.Partial) > 0 {
			b.Add("partialFilterExpression", value.OfDoc(value.Doc(ix.Spec.Partial)))
		}
		if ix.Spec.Expire != nil {
			b.Add("expireAfterSeconds", value.OfInt(*ix.Spec.Expire))
		}
		docs = append(docs, b.Done())
	}
	return s.list(r, ns, docs)
}

func (s *Service) dropIndexes(r *request) (*value.Builder, error) {
	c, ns, err := s.lookup(r)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "ns not found %s", ns)
	}
	before := len(c.Indexes())
	choose, err := chooser(c, r.get("index"))
	if err != nil {
		return nil, err
	}
	if _, err := c.DropIndexes(choose); err != nil {
		return nil, err
	}
	return value.NewBuilder().Int32("nIndexesWas", int32(before)), nil
}

func chooser(c *storage.Collection, v value.Value) (func(*storage.Index) bool, error) {
	names := []string{}
	switch v.T {
	case bson.TypeString:
		if v.Str() == "*" {
			return func(*storage.Index) bool { return true }, nil
		}
		names = append(names, v.Str())
	case bson.TypeArray:
		for _, e := range v.Doc().Values() {
			names = append(names, e.Str())
		}
	case bson.TypeEmbeddedDocument:
		for _, ix := range c.Indexes() {
			if ix.HasKeys(v.Doc()) {
				names = append(names, ix.Spec.Name)
			}
		}
	}
	for _, n := range names {
		if n == "_id_" {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "cannot drop _id index")
		}
		if !slices.ContainsFunc(c.Indexes(), func(ix *storage.Index) bool { return ix.Spec.Name == n }) {
			return nil, mongoerr.New(mongoerr.IndexNotFound, "index not found with name [%s]", n)
		}
	}
	if len(names) == 0 {
		return nil, mongoerr.New(mongoerr.IndexNotFound, "can't find index: %s", value.Format(v))
	}
	return func(ix *storage.Index) bool { return slices.Contains(names, ix.Spec.Name) }, nil
}
