package update

import (
	"encoding/binary"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// apply executes one modifier on every concrete path of its path.
func (u *Update) apply(root *node, m modifier, c Context) error {
	if m.op == "$setOnInsert" && !c.Insert {
		return nil
	}
	return u.resolve(root, nil, m.path, c, func(path []string) error { return applyAt(root, path, m, c) })
}

// resolve replaces "$", "$[]" and "$[x]" by array positions and calls f with each concrete path.
func (u *Update) resolve(root *node, done, rest []string, c Context, f func([]string) error) error {
	for i, p := range rest {
		if p[0] != '$' || p == "$ref" || p == "$id" || p == "$db" {
			continue
		}
		prefix := append(slices.Clone(done), rest[:i]...)
		if p == "$" {
			if c.Pos < 0 {
				return mongoerr.New(mongoerr.BadValue, "the positional operator did not find the match needed from the query")
			}
			return u.resolve(root, append(prefix, value.Index(c.Pos)), rest[i+1:], c, f)
		}
		arr, _ := root.find(prefix)
		if arr == nil {
			return mongoerr.New(mongoerr.BadValue, "the path '%s' must exist in the document in order to apply array updates", join(prefix))
		}
		if !arr.isArray() {
			return mongoerr.New(mongoerr.BadValue, "cannot apply array updates to non-array element %s: %s", arr.key, value.Format(arr.value()))
		}
		arr.expand()
		for n, k := range arr.kids {
			if name := p[2 : len(p)-1]; name != "" {
				if !u.filters[name].Match(value.NewBuilder().Add(name, k.value()).Done()) {
					continue
				}
			}
			if err := u.resolve(root, append(slices.Clone(prefix), value.Index(n)), rest[i+1:], c, f); err != nil {
				return err
			}
		}
		return nil
	}
	return f(append(slices.Clone(done), rest...))
}

func join(path []string) string {
	return strings.Join(path, ".")
}

func applyAt(root *node, path []string, m modifier, c Context) error {
	switch m.op {
	case "$set", "$setOnInsert":
		return assign(root, path, m.arg)
	case "$unset":
		unset(root, path)
		return nil
	case "$inc", "$mul":
		return applyArithmetic(root, path, m)
	case "$min", "$max":
		return applyExtreme(root, path, m)
	case "$currentDate":
		v := value.OfDate(c.Now)
		if m.arg.T == bson.TypeEmbeddedDocument && m.arg.Doc().Get("$type").Str() == "timestamp" {
			v = value.Value{T: bson.TypeTimestamp, B: binary.LittleEndian.AppendUint64(nil, uint64(c.Now/1000)<<32|1)}
		}
		return assign(root, path, v)
	case "$rename":
		return applyRename(root, path, m)
	case "$push":
		return m.push.apply(root, path)
	case "$addToSet":
		return m.push.addToSet(root, path)
	case "$pull", "$pullAll":
		return applyPull(root, path, m)
	}
	return applyPop(root, path, m)
}

func assign(root *node, path []string, v value.Value) error {
	n, created, err := root.make(path, func() (value.Value, error) { return v, nil })
	if err == nil && !created {
		n.set(v)
	}
	return err
}

// unset removes a field; an array's element becomes null, so that the others keep their positions.
func unset(root *node, path []string) {
	parent := root
	if len(path) > 1 {
		parent, _ = root.find(path[:len(path)-1])
	}
	if parent == nil || (!parent.isDoc() && !parent.isArray()) {
		return
	}
	last := path[len(path)-1]
	k := parent.child(last)
	switch {
	case k == nil:
	case parent.isArray():
		k.set(value.Null)
	default:
		parent.remove(last)
	}
}

func applyArithmetic(root *node, path []string, m modifier) error {
	n, created, err := root.make(path, func() (value.Value, error) {
		if m.op == "$mul" {
			zero, _ := value.Mul(m.arg, value.OfInt32(0))
			return zero, nil
		}
		return m.arg, nil
	})
	if err != nil || created {
		return err
	}
	old := n.value()
	if !old.IsNumber() {
		return mongoerr.New(mongoerr.TypeMismatch, "cannot apply %s to a value of non-numeric type: the field '%s' has type %s", m.op, n.key, value.TypeName(old.T))
	}
	if old.T == bson.TypeDecimal128 || m.arg.T == bson.TypeDecimal128 {
		return mongoerr.NotImplemented("%s on a decimal128", m.op)
	}
	f := value.Add
	if m.op == "$mul" {
		f = value.Mul
	}
	r, ok := f(old, m.arg)
	if !ok {
		return mongoerr.New(mongoerr.BadValue, "failed to apply %s operations to current value (%s) for the field '%s': overflow", m.op, value.Format(old), n.key)
	}
	n.set(r)
	return nil
}

func applyExtreme(root *node, path []string, m modifier) error {
	n, created, err := root.make(path, func() (value.Value, error) { return m.arg, nil })
	if err != nil || created {
		return err
	}
	c := value.Compare(m.arg, n.value())
	if (m.op == "$min" && c < 0) || (m.op == "$max" && c > 0) {
		n.set(m.arg)
	}
	return nil
}

func applyRename(root *node, path []string, m modifier) error {
	if inArray(root, m.from) || inArray(root, path) {
		return mongoerr.New(mongoerr.BadValue, "the source and target of $rename cannot be array elements: %s", join(m.from))
	}
	n, blocked := root.find(m.from)
	if blocked != nil {
		return notViable(m.from, blocked)
	}
	if n == nil {
		return nil
	}
	v := n.value()
	unset(root, m.from)
	// The target is removed first: a renamed field goes to the end.
	unset(root, path)
	return assign(root, path, v)
}

func inArray(root *node, path []string) bool {
	for i := 1; i < len(path); i++ {
		if n, _ := root.find(path[:i]); n != nil && n.isArray() {
			return true
		}
	}
	return false
}

func applyPop(root *node, path []string, m modifier) error {
	n, blocked := root.find(path)
	if blocked != nil {
		return notViable(path, blocked)
	}
	if n == nil {
		return nil
	}
	if !n.isArray() {
		return mongoerr.New(mongoerr.TypeMismatch, "path '%s' contains an element of non-array type '%s'", join(path), value.TypeName(n.v.T))
	}
	n.expand()
	if len(n.kids) == 0 {
		return nil
	}
	if i, _ := m.arg.Int(); i > 0 {
		n.kids = n.kids[:len(n.kids)-1]
	} else {
		n.kids = n.kids[1:]
	}
	return nil
}
