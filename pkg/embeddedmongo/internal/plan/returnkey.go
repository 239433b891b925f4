package plan

import (
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// returnsKeys checks that the rows can be index entries: one for each document, in the order of the index.
func (p *Plan) returnsKeys() error {
	if p.ix.IsID() || p.dedupe || !p.sorted {
		return mongoerr.NotImplemented("returnKey without an index that has one entry for each document in the order of the sort")
	}
	return nil
}

// keyDoc builds a document of the current index entry: a field for each path of the index. Entries do not have the types of
// numbers, so they are doubles.
func (r *Rows) keyDoc() (value.Doc, error) {
	b := value.BuildOnto(r.entry[:0])
	rest := storage.EntryFields(r.ks.key())
	for _, f := range r.p.ix.Fields {
		x, n, ok := value.ReadKey(rest, f.Desc, r.value)
		if !ok {
			return nil, mongoerr.NotImplemented("returnKey of an entry whose field %s is neither null, a number, a string nor binary", f.Path)
		}
		if x.B != nil {
			r.value = x.B
		}
		b.Add(f.Path, x)
		rest = rest[n:]
	}
	r.entry = b.Bytes()
	return r.entry, nil
}
