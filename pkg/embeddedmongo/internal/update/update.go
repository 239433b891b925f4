// Package update compiles MongoDB update documents and applies them to documents in wire form.
package update

import (
	"bytes"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Update is a compiled update: operators, or a replacement document. It is safe for concurrent use.
type Update struct {
	mods        []modifier
	replacement value.Doc
	filters     map[string]*filter.Filter
	positional  bool
	isFlat      bool
}

// Context holds the inputs of one application of an update.
type Context struct {
	Now    int64 // Milliseconds, for $currentDate.
	Insert bool  // The document is being inserted by an upsert: $setOnInsert applies.
	Pos    int   // The array position that "$" stands for, or -1.
	// Memory, if any, is for the result: valid until the next update that shares it.
	Memory *[]byte
}

type modifier struct {
	op   string
	path []string
	arg  value.Value
	push *push
	pull func(value.Value) bool
	from []string // $rename's source.
}

// IsReplacement reports whether the update replaces whole documents.
func (u *Update) IsReplacement() bool { return u.replacement != nil }

// Positional reports whether a path uses "$", so that Apply needs the array position of the match.
func (u *Update) Positional() bool { return u.positional }

// Compile compiles an update: a document of operators, or a replacement document.
func Compile(v value.Value, arrayFilters []value.Doc) (*Update, error) {
	u := &Update{}
	if v.T == bson.TypeArray {
		return nil, mongoerr.NotImplemented("an update by a pipeline")
	}
	if v.T != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "an update must be a document or an array")
	}
	d := v.Doc()
	if k, _ := d.First(); !strings.HasPrefix(k, "$") {
		for it := d.Iter(); ; {
			k, _, ok := it.Next()
			if !ok {
				break
			}
			if len(k) > 0 && k[0] == '$' {
				return nil, mongoerr.New(mongoerr.DollarPrefixed, "the dollar ($) prefixed field %q is not allowed in a replacement", k)
			}
		}
		u.replacement = d
		return u, nil
	}
	if err := u.compileArrayFilters(arrayFilters); err != nil {
		return nil, err
	}
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		if err := u.compileOperator(string(k), v); err != nil {
			return nil, err
		}
	}
	// Fields are applied in the order of their names, numbers as numbers, whatever the operators' order.
	slices.SortStableFunc(u.mods, func(a, b modifier) int { return comparePaths(a.path, b.path) })
	u.isFlat = len(u.filters) == 0 && u.flat()
	if u.isFlat {
		return u, u.checkNames()
	}
	return u, u.checkConflicts()
}

func (u *Update) compileArrayFilters(list []value.Doc) error {
	if len(list) == 0 {
		return nil
	}
	u.filters = make(map[string]*filter.Filter, len(list))
	for _, d := range list {
		name, err := filterName(d)
		if err != nil {
			return err
		}
		if u.filters[name] != nil {
			return mongoerr.New(mongoerr.FailedToParse, "found multiple array filters with the same top-level field name %s", name)
		}
		f, err := filter.Compile(d)
		if err != nil {
			return err
		}
		u.filters[name] = f
	}
	return nil
}

// filterName finds the identifier that all fields of an array filter begin with.
func filterName(d value.Doc) (string, error) {
	name := ""
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		n, _, _ := strings.Cut(string(k), ".")
		if strings.HasPrefix(n, "$") {
			for _, e := range v.Doc().Values() {
				sub, err := filterName(e.Doc())
				if err != nil {
					return "", err
				}
				if n = sub; name != "" && n != name {
					break
				}
			}
		}
		if name != "" && n != name {
			return "", mongoerr.New(mongoerr.FailedToParse, "expected a single top-level field name in an array filter, found %q and %q", name, n)
		}
		name = n
	}
	if name == "" {
		return "", mongoerr.New(mongoerr.FailedToParse, "cannot use an expression without a top-level field name in arrayFilters")
	}
	return name, nil
}

func comparePaths(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		i, oki := value.ParseIndex(x)
		j, okj := value.ParseIndex(y)
		if oki && okj {
			return i - j
		}
		return strings.Compare(x, y)
	})
}

// checkNames is checkConflicts for a flat update.
func (u *Update) checkNames() error {
	for i := range u.mods {
		for j := range i {
			if name := u.mods[i].path[0]; name == u.mods[j].path[0] {
				return conflict(name, name)
			}
		}
	}
	return nil
}

func (u *Update) checkConflicts() error {
	used := map[string]bool{}
	var paths [][]string
	for _, m := range u.mods {
		paths = append(paths, m.path)
		if m.from != nil {
			paths = append(paths, m.from)
		}
	}
	for _, p := range paths {
		full := strings.Join(p, ".")
		if used[full] {
			return conflict(full, full)
		}
		used[full] = true
	}
	for _, p := range paths {
		for i := 1; i < len(p); i++ {
			if pre := strings.Join(p[:i], "."); used[pre] {
				return conflict(strings.Join(p, "."), pre)
			}
		}
	}
	identifiers := map[string]bool{}
	for _, p := range paths {
		for _, part := range p {
			if strings.HasPrefix(part, "$[") && len(part) > 3 {
				identifiers[part[2:len(part)-1]] = true
			}
		}
	}
	for name := range identifiers {
		if u.filters[name] == nil {
			return mongoerr.New(mongoerr.BadValue, "no array filter found for identifier '%s'", name)
		}
	}
	for name := range u.filters {
		if !identifiers[name] {
			return mongoerr.New(mongoerr.FailedToParse, "the array filter for identifier '%s' was not used in the update", name)
		}
	}
	return nil
}

func conflict(path, at string) error {
	return mongoerr.New(mongoerr.ConflictingUpdate, "updating the path '%s' would create a conflict at '%s'", path, at)
}

// Apply returns the changed document. The _id must not change; when old has none (an upsert), any may be set.
// The result shares no bytes with old unless nothing changed, in which case it is old.
func (u *Update) Apply(old value.Doc, c Context) (value.Doc, error) {
	var out value.Doc
	switch {
	case u.replacement != nil:
		out = u.replace(old)
	default:
		var err error
		if out, err = u.modified(old, c); err != nil {
			return nil, err
		}
	}
	if bytes.Equal(old, out) {
		return old, nil
	}
	if oid := old.Get("_id"); !oid.IsMissing() {
		if nid := out.Get("_id"); nid.IsMissing() || !value.Equal(oid, nid) {
			return nil, mongoerr.New(mongoerr.ImmutableField, "performing an update on the path '_id' would modify the immutable field '_id'")
		}
	}
	return out, nil
}

// modified applies the modifiers.
func (u *Update) modified(old value.Doc, c Context) (value.Doc, error) {
	if u.isFlat {
		if out, ok := u.splice(old, c); ok {
			return out, nil
		}
	}
	root := &node{v: value.OfDoc(old)}
	root.expand()
	for _, m := range u.mods {
		if err := u.apply(root, m, c); err != nil {
			return nil, err
		}
	}
	return root.value().Doc(), nil
}

// replace keeps the old _id in front when the replacement has none.
func (u *Update) replace(old value.Doc) value.Doc {
	id := old.Get("_id")
	if nid := u.replacement.Get("_id"); !nid.IsMissing() {
		id = nid
	}
	b := value.NewBuilder().Add("_id", id)
	for it := u.replacement.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			return b.Done()
		}
		if string(k) != "_id" {
			b.AddKey(k, v)
		}
	}
}
