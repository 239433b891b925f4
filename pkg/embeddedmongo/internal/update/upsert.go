package update

import (
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Seed makes the initial document of an upsert: the fields that the filter fixes by equality. A replacement takes only _id.
func (u *Update) Seed(f *filter.Filter) (value.Doc, error) {
	root := &node{v: value.OfDoc(value.EmptyDoc)}
	root.expand()
	if err := seed(root, map[string]bool{}, f.Conjuncts(), u.replacement != nil); err != nil {
		return nil, err
	}
	return root.value().Doc(), nil
}

// seed assigns the equalities of the conjuncts. fixed maps the paths so far to true and their prefixes to false.
func seed(root *node, fixed map[string]bool, all filter.And, onlyID bool) error {
	for _, n := range all {
		switch n := n.(type) {
		case filter.And:
			if err := seed(root, fixed, n, onlyID); err != nil {
				return err
			}
		case filter.Or:
			if len(n) == 1 {
				if err := seed(root, fixed, filter.And{n[0]}, onlyID); err != nil {
					return err
				}
			}
		case *filter.Leaf:
			v := n.Value
			if n.Op == filter.In && len(n.List) == 1 && !n.HasRegexps() {
				v = n.List[0]
			} else if n.Op != filter.Eq {
				continue
			}
			if onlyID && n.Path != "_id" {
				continue
			}
			parts := n.Parts()
			if !fix(fixed, parts) {
				return mongoerr.New(mongoerr.Kind{Code: 54, Name: "NotSingleValueField"}, "cannot infer query fields to set, path '%s' is matched twice", n.Path)
			}
			if err := assign(root, parts, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// fix records a path; false when the path, a prefix of it, or a path below it is fixed already.
func fix(fixed map[string]bool, path []string) bool {
	for i := 1; i < len(path); i++ {
		prefix := join(path[:i])
		if fixed[prefix] {
			return false
		}
		fixed[prefix] = false
	}
	if _, there := fixed[join(path)]; there {
		return false
	}
	fixed[join(path)] = true
	return true
}
