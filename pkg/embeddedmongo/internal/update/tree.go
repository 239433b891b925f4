package update

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// node is one element of a document under change. Containers are opened only where an update reaches into them.
type node struct {
	key  []byte
	v    value.Value // The value, unless open.
	kids []*node
	open bool
}

func (n *node) isDoc() bool   { return n.v.T == bson.TypeEmbeddedDocument }
func (n *node) isArray() bool { return n.v.T == bson.TypeArray }

// expand reads a container's elements.
func (n *node) expand() {
	if n.open {
		return
	}
	n.open = true
	d := n.v.Doc()
	kids := make([]node, d.Len())
	n.kids = make([]*node, 0, len(kids)+spare)
	it := d.Iter()
	for i := range kids {
		kids[i].key, kids[i].v, _ = it.Next()
		n.kids = append(n.kids, &kids[i])
	}
}

// spare is the capacity for elements that an update creates.
const spare = 4

// set replaces the value.
func (n *node) set(v value.Value) { n.v, n.open, n.kids = v, false, nil }

// value encodes the node as it is now.
func (n *node) value() value.Value {
	if !n.open {
		return n.v
	}
	b := value.NewBuilderOf(n.size())
	n.elements(b)
	return value.Value{T: n.v.T, B: b.Done()}
}

// elements writes an open container's elements.
func (n *node) elements(b *value.Builder) {
	for i, k := range n.kids {
		key := k.key
		if n.isArray() {
			key = []byte(value.Index(i))
		}
		if !k.open {
			b.AddKey(key, k.v)
			continue
		}
		b.OpenKey(key, k.v.T)
		k.elements(b)
		b.Close()
	}
}

// size estimates the length of the encoded value, in bytes.
func (n *node) size() int {
	if !n.open {
		return len(n.v.B)
	}
	const around = 5 // A container's length and end.
	sum := around
	for _, k := range n.kids {
		sum += 2 + len(k.key) + k.size()
	}
	return sum
}

// child finds an element by name, or by position in an array; nil when there is none.
func (n *node) child(key string) *node {
	n.expand()
	if n.isArray() {
		if i, ok := value.ParseIndex(key); ok && i < len(n.kids) {
			return n.kids[i]
		}
		return nil
	}
	for _, k := range n.kids {
		if string(k.key) == key {
			return k
		}
	}
	return nil
}

// maxPadding bounds how far beyond its end an array may be filled with nulls.
const maxPadding = 1500000

// create adds a missing element; an array is filled with nulls up to the position.
func (n *node) create(key string, v value.Value) (*node, error) {
	n.expand()
	if n.isArray() {
		i, ok := value.ParseIndex(key)
		if !ok {
			return nil, notViable([]string{key}, n)
		}
		if i-len(n.kids) > maxPadding {
			return nil, mongoerr.New(mongoerr.BadValue, "can't backfill more than %d elements", maxPadding)
		}
		for len(n.kids) < i {
			n.kids = append(n.kids, &node{v: value.Null})
		}
	}
	k := &node{key: []byte(key), v: v}
	n.kids = append(n.kids, k)
	return k, nil
}

func (n *node) remove(key string) bool {
	for i, k := range n.kids {
		if string(k.key) == key {
			n.kids = append(n.kids[:i], n.kids[i+1:]...)
			return true
		}
	}
	return false
}

func notViable(path []string, n *node) error {
	return mongoerr.New(mongoerr.PathNotViable, "cannot create '%s' in element {%s: %s}", join(path), n.key, value.Format(n.value()))
}

// find walks to an existing element; nil when the path ends early. blocked is the scalar or array that the path cannot enter.
func (n *node) find(path []string) (found, blocked *node) {
	for i, p := range path {
		if !n.isDoc() && !n.isArray() {
			return nil, n
		}
		if n.isArray() {
			if _, ok := value.ParseIndex(p); !ok {
				return nil, n
			}
		}
		k := n.child(p)
		if k == nil {
			return nil, nil
		}
		if i == len(path)-1 {
			return k, nil
		}
		n = k
	}
	return n, nil
}

// make walks to an element and creates the missing elements of the path, the last one with the value of v.
func (n *node) make(path []string, v func() (value.Value, error)) (*node, bool, error) {
	if k, blocked := n.find(path); k != nil {
		return k, false, nil
	} else if blocked != nil {
		return nil, false, notViable(path, blocked)
	}
	last, err := v()
	if err != nil {
		return nil, false, err
	}
	for i, p := range path {
		k := n.child(p)
		if k == nil {
			fresh := value.OfDoc(value.EmptyDoc)
			if i == len(path)-1 {
				fresh = last
			}
			if k, err = n.create(p, fresh); err != nil {
				return nil, false, err
			}
		}
		n = k
	}
	return n, true, nil
}
