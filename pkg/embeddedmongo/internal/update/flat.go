package update

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// flat reports whether every modifier changes one top-level field in a way that needs no tree of nodes.
func (u *Update) flat() bool {
	if len(u.mods) > maxFlat {
		return false
	}
	for i := range u.mods {
		m := &u.mods[i]
		if len(m.path) != 1 {
			return false
		}
		switch m.op {
		case "$set", "$unset":
		case "$push":
			if m.push.position != nil || m.push.slice != nil || m.push.sort != nil {
				return false
			}
		case "$pull":
		default:
			return false
		}
	}
	return true
}

// maxFlat bounds the modifiers of a flat update: each field of the document is compared with their names, one bit each.
const maxFlat = 64

// splice applies a flat update in one pass over the document, into the memory of the context. It reports false, and leaves
// the update to the tree, for a field that is not an array but should be one.
func (u *Update) splice(old value.Doc, c Context) (value.Doc, bool) {
	var memory []byte
	if c.Memory != nil {
		memory = *c.Memory
	}
	b := value.BuildIn(slices.Grow(memory[:0], len(old)+u.argSize()))
	var done uint64 // Bit i: modifier i met its field.
	for it := old.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		i := u.modifierOf(k)
		if i < 0 || done&(1<<i) != 0 { // Of fields with one name, the first one changes.
			b.AddKey(k, v)
			continue
		}
		done |= 1 << i
		switch m := &u.mods[i]; m.op {
		case "$set":
			b.AddKey(k, m.arg)
		case "$unset":
		default:
			if v.T != bson.TypeArray {
				return nil, false
			}
			m.array(b, k, v)
		}
	}
	for i := range u.mods {
		m := &u.mods[i]
		if done&(1<<i) != 0 {
			continue
		}
		switch m.op {
		case "$set":
			b.Add(m.path[0], m.arg)
		case "$push":
			m.array(b, []byte(m.path[0]), value.OfDoc(value.EmptyDoc))
		}
	}
	out := b.Done()
	if c.Memory != nil && cap(out) <= maxMemory {
		*c.Memory = out[:0]
	}
	return out, true
}

// maxMemory bounds the memory that a caller reuses, in bytes.
const maxMemory = 64 << 10

// modifierOf returns the modifier of a top-level field, or -1.
func (u *Update) modifierOf(key []byte) int {
	for i := range u.mods {
		if string(key) == u.mods[i].path[0] {
			return i
		}
	}
	return -1
}

// array writes an array without the elements that $pull removes, and with those that $push appends.
func (m *modifier) array(b *value.Builder, key []byte, old value.Value) {
	b.OpenKey(key, bson.TypeArray)
	n := 0
	for it := old.Doc().Iter(); ; {
		_, v, ok := it.Next()
		if !ok {
			break
		}
		if m.pull != nil && m.pull(v) {
			continue
		}
		b.Add(value.Index(n), v)
		n++
	}
	if m.push != nil {
		for _, v := range m.push.each {
			b.Add(value.Index(n), v)
			n++
		}
	}
	b.Close()
}

// argSize estimates how much the modifiers add to a document, in bytes.
func (u *Update) argSize() int {
	n := 0
	for i := range u.mods {
		n += len(u.mods[i].path[0]) + len(u.mods[i].arg.B) + 2
	}
	return n
}
