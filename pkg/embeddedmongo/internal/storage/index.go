package storage

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// IndexSpec specifies an index, in createIndexes and in the catalog.
type IndexSpec struct {
	ID       uint16   `bson:"id"`
	Name     string   `bson:"name"`
	Key      bson.Raw `bson:"key"`
	Unique   bool     `bson:"unique,omitempty"`
	Sparse   bool     `bson:"sparse,omitempty"`
	Partial  bson.Raw `bson:"partialFilterExpression,omitempty"`
	Expire   *int64   `bson:"expireAfterSeconds,omitempty"`
	Multikey uint32   `bson:"multikey,omitempty"` // Bit i: field i was reached through an array in some document.
	// SetOnce promises that a Set of an entry is the only one since the entry's last deletion, so a SingleDelete removes it.
	// Indexes that earlier versions built lack it: their builds set the entries of changed documents again.
	SetOnce bool `bson:"setOnce,omitempty"`
}

// Index is an open index. ID 0 is the _id index, which is the document key space.
type Index struct {
	Spec     IndexSpec
	Fields   []index.Field
	Partial  *filter.Filter
	multikey atomic.Uint32

	// roots are the top-level fields that the entries depend on. An update of other fields leaves the entries unchanged.
	// nil when the partial filter is not a plain conjunction, so any field may matter.
	roots []string
	// partialRoots are those that the partial filter reads; nil when there is none, or any field may matter.
	partialRoots []string
}

// Multikey returns the fields that some document reaches through an array, one bit a field.
func (ix *Index) Multikey() uint32 { return ix.multikey.Load() }

// IsID reports whether this is the _id index.
func (ix *Index) IsID() bool { return ix.Spec.ID == 0 }

func newIDIndex() *Index {
	key, _ := bson.Marshal(bson.D{{Key: "_id", Value: int32(1)}})
	return &Index{Spec: IndexSpec{Name: "_id_", Key: key}, Fields: []index.Field{index.NewField("_id", false)}}
}

// NewIndex is OpenIndex for an index that does not exist yet: MongoDB accepts fewer conditions of a partial index than OpenIndex.
func NewIndex(spec IndexSpec) (*Index, error) {
	ix, err := OpenIndex(spec)
	if err == nil && ix.Partial != nil && !filter.Partial(ix.Partial.Conjuncts()) {
		return nil, mongoerr.New(mongoerr.CannotCreateIndex, "unsupported expression in partial index: %s", value.Format(value.OfDoc(value.Doc(spec.Partial))))
	}
	return ix, err
}

// OpenIndex checks a specification and compiles it.
func OpenIndex(spec IndexSpec) (*Index, error) {
	ix := &Index{Spec: spec}
	ix.multikey.Store(spec.Multikey)
	d := value.Doc(spec.Key)
	if d.Empty() {
		return nil, mongoerr.New(mongoerr.CannotCreateIndex, "index keys cannot be an empty field")
	}
	seen := map[string]bool{}
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		path := string(k)
		if v.T == bson.TypeString {
			return nil, mongoerr.NotImplemented("index type %q on %s", v.Str(), path)
		}
		if !v.IsNumber() || v.Float() == 0 {
			return nil, mongoerr.New(mongoerr.CannotCreateIndex, "values in the index key pattern must be 1 or -1, not %s", value.Format(v))
		}
		if seen[path] {
			return nil, mongoerr.New(mongoerr.BadValue, "the field '%s' appears more than once in the index key pattern", path)
		}
		seen[path] = true
		for _, p := range strings.Split(path, ".") {
			if p == "" || (p[0] == '$' && p != "$ref" && p != "$id" && p != "$db") {
				if strings.HasPrefix(p, "$**") {
					return nil, mongoerr.NotImplemented("wildcard index %s", path)
				}
				return nil, mongoerr.New(mongoerr.CannotCreateIndex, "index key path %q is not allowed", path)
			}
		}
		ix.Fields = append(ix.Fields, index.NewField(path, v.Float() < 0))
	}
	if len(ix.Fields) > 31 {
		return nil, mongoerr.New(mongoerr.CannotCreateIndex, "an index has at most 31 fields")
	}
	if spec.Sparse && len(spec.Partial) > 0 {
		return nil, mongoerr.New(mongoerr.CannotCreateIndex, "cannot mix \"partialFilterExpression\" and \"sparse\" options")
	}
	if spec.Expire != nil && len(ix.Fields) != 1 {
		return nil, mongoerr.New(mongoerr.CannotCreateIndex, "TTL indexes are single-field indexes, compound indexes do not support TTL")
	}
	if len(spec.Partial) > 0 {
		f, err := filter.Compile(value.Doc(spec.Partial))
		if err != nil {
			return nil, err
		}
		ix.Partial = f
	}
	ix.setRoots()
	return ix, nil
}

// setRoots collects the top-level fields that the entries depend on.
func (ix *Index) setRoots() {
	var partial []string
	if ix.Partial != nil {
		for _, n := range ix.Partial.Conjuncts() {
			leaf, ok := n.(*filter.Leaf)
			if !ok {
				return
			}
			partial = appendRoot(partial, leaf.Path)
		}
	}
	ix.partialRoots, ix.roots = partial, slices.Clone(partial)
	for _, f := range ix.Fields {
		ix.roots = appendRoot(ix.roots, f.Path)
	}
}

// appendRoot adds the first name of a path, once.
func appendRoot(roots []string, path string) []string {
	root, _, _ := strings.Cut(path, ".")
	if slices.Contains(roots, root) {
		return roots
	}
	return append(roots, root)
}

// untouched reports whether a change of these top-level fields leaves the entries of a document unchanged.
func (ix *Index) untouched(changed [][]byte) bool {
	return ix.roots != nil && disjoint(ix.roots, changed)
}

// excludes reports whether the partial filter excludes a document both before and after a change of these top-level fields. It may
// be false for such a document.
func (ix *Index) excludes(after value.Doc, changed [][]byte) bool {
	if ix.partialRoots == nil || !disjoint(ix.partialRoots, changed) {
		return false
	}
	return !ix.Partial.Match(after)
}

func disjoint(roots []string, changed [][]byte) bool {
	for _, root := range roots {
		for _, k := range changed {
			if string(k) == root {
				return false
			}
		}
	}
	return true
}

// appendChangedFields lists the top-level fields in which two versions of a document differ.
func appendChangedFields(changed [][]byte, a, b value.Doc) [][]byte {
	x, y := a.Iter(), b.Iter()
	for {
		ahead, behind := x, y // The remaining elements at the first difference.
		k, v, more := x.Next()
		l, w, too := y.Next()
		if more && too && bytes.Equal(k, l) {
			if v.T != w.T || !bytes.Equal(v.B, w.B) {
				changed = append(changed, k)
			}
			continue
		}
		if !more && !too {
			return changed
		}
		// The field order differs from here on. A repeated name counts as changed.
		return append(append(changed, changedRest(ahead, behind)...), changedRest(behind, ahead)...)
	}
}

// changedRest lists the fields of x that y lacks or has with another value.
func changedRest(x, y value.Iter) [][]byte {
	var changed [][]byte
	for {
		k, v, more := x.Next()
		if !more {
			return changed
		}
		same := 0
		for it := y; ; {
			l, w, more := it.Next()
			if !more {
				break
			}
			if bytes.Equal(k, l) {
				if same++; v.T != w.T || !bytes.Equal(v.B, w.B) {
					same = 2
				}
			}
		}
		if same != 1 {
			changed = append(changed, k)
		}
	}
}

// entries derives the index keys of a document; none when a partial or sparse index excludes it.
func (ix *Index) entries(d value.Doc) (index.KeySet, error) {
	return ix.entriesIn(&index.Memory{}, d)
}

// entriesIn is entries in memory that is reused.
func (ix *Index) entriesIn(memory *index.Memory, d value.Doc) (index.KeySet, error) {
	if ix.Partial != nil && !ix.Partial.Match(d) {
		return index.KeySet{}, nil
	}
	ks := index.EntriesIn(memory, d, ix.Fields)
	if ks.Parallel != "" {
		return ks, mongoerr.New(mongoerr.ParallelArrays, "cannot index parallel arrays: %s", ks.Parallel)
	}
	if ix.Spec.Sparse && ks.AllNull {
		return index.KeySet{}, nil
	}
	return ks, nil
}
