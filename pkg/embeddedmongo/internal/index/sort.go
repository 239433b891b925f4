package index

import (
	"bytes"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Field is one component of an index key or of a sort pattern.
type Field struct {
	Path  string
	Desc  bool
	parts []string
}

// NewField makes a component.
func NewField(path string, desc bool) Field {
	return Field{Path: path, Desc: desc, parts: strings.Split(path, ".")}
}

// Sort is a compiled sort pattern.
type Sort struct{ Fields []Field }

// CompileSort compiles {path: 1 or -1, …}.
func CompileSort(d value.Doc) (*Sort, error) {
	s := &Sort{}
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		if v.T == bson.TypeEmbeddedDocument {
			op, _ := v.Doc().First()
			return nil, mongoerr.NotImplemented("sort key %s: {%s}", k, op)
		}
		n, ok := v.Int()
		if !ok || (n != 1 && n != -1) {
			return nil, mongoerr.New(mongoerr.Kind{Code: 15975, Name: "Location15975"}, "$sort key ordering must be 1 (for ascending) or -1 (for descending)")
		}
		if len(k) == 0 || k[0] == '$' {
			return nil, mongoerr.New(mongoerr.Kind{Code: 16410, Name: "Location16410"}, "sort path %q is not allowed", k)
		}
		s.Fields = append(s.Fields, NewField(string(k), n < 0))
	}
	if len(s.Fields) > 32 {
		return nil, mongoerr.New(mongoerr.BadValue, "too many sort keys: %d", len(s.Fields))
	}
	return s, nil
}

// Key encodes the sort key of a document: byte order is sort order. A field with several values (through arrays) sorts by its least
// value when ascending, by its greatest when descending; an empty array sorts before null. A sort by _id alone compares whole
// values. Paths through different arrays of one document are an error, as in an index.
func (s *Sort) Key(d value.Doc) ([]byte, error) {
	if len(s.Fields) == 1 && s.Fields[0].Path == "_id" {
		return value.AppendKey(nil, d.Get("_id"), s.Fields[0].Desc), nil
	}
	keys := Entries(d, s.Fields)
	if keys.Parallel != "" {
		return nil, mongoerr.New(mongoerr.BadValue, "cannot sort with keys that are parallel arrays: %s", keys.Parallel)
	}
	return least(keys.Keys), nil
}

// WholeKey is Key for the elements that $push sorts: a field's value is compared as a whole, and a path may name a position.
func (s *Sort) WholeKey(d value.Doc) []byte {
	var k []byte
	for _, f := range s.Fields {
		v := value.OfDoc(d)
		for _, p := range f.parts {
			switch v.T {
			case bson.TypeEmbeddedDocument:
				v = v.Doc().Get(p)
			case bson.TypeArray:
				n, ok := value.ParseIndex(p)
				if v = v.Doc().At(n); !ok {
					v = value.Value{}
				}
			default:
				v = value.Value{}
			}
		}
		k = value.AppendKey(k, v, f.Desc)
	}
	return k
}

func least(keys [][]byte) []byte {
	var m []byte
	for i, k := range keys {
		if i == 0 || bytes.Compare(k, m) < 0 {
			m = k
		}
	}
	return m
}

// Parts is the field's path, split at its dots. The caller must not modify it.
func (f Field) Parts() []string { return f.parts }
