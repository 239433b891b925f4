package plan

import (
	"bytes"
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

func successor(b []byte) []byte { return storage.Successor(b) }

// span is a range [lo, hi) of keys. at is the length of the key prefix that points fix; the suffix after it is ordered.
type span struct {
	lo, hi []byte
	at     int
}

// maxSpans bounds the expansion of $in lists into spans; a longer list is tested on documents.
const maxSpans = 20000

// spans is the cross product of the bounds of an index's leading fields: points, and points or a range of the last field.
func spans(header []byte, bs []*bound) []span {
	var a arena
	prefixes := [][]byte{header}
	for i, b := range bs {
		if b.points == nil {
			a.grow(2*size(prefixes) + len(prefixes)*(len(b.lo)+len(b.hi)))
			out := make([]span, 0, len(prefixes))
			for _, p := range prefixes {
				var hi []byte
				if b.hi != nil {
					hi = a.concat(p, b.hi)
				} else {
					hi = a.successor(p)
				}
				// Contradicting bounds are an empty range, which an iterator does not accept.
				if s := (span{lo: a.concat(p, b.lo), hi: hi, at: len(p)}); hi == nil || bytes.Compare(s.lo, hi) < 0 {
					out = append(out, s)
				}
			}
			return out
		}
		if i == 0 && len(b.points) == 1 {
			prefixes[0] = slices.Concat(header, b.points[0])
			continue
		}
		next := make([][]byte, 0, len(prefixes)*len(b.points))
		a.grow(len(b.points)*size(prefixes) + len(prefixes)*size(b.points))
		for _, p := range prefixes {
			for _, x := range b.points {
				next = append(next, a.concat(p, x))
			}
		}
		prefixes = next
	}
	a.grow(size(prefixes))
	out := make([]span, len(prefixes))
	for i, p := range prefixes {
		out[i] = span{lo: p, hi: a.successor(p), at: len(p)}
	}
	return out
}

// size is the number of bytes of some keys.
func size(keys [][]byte) (n int) {
	for _, k := range keys {
		n += len(k)
	}
	return n
}

// arena is memory for many short keys.
type arena struct{ free []byte }

// grow makes room for keys of so many bytes. A key that does not fit moves the arena; earlier keys keep their memory.
func (a *arena) grow(size int) { a.free = slices.Grow(a.free[len(a.free):], size) }

func (a *arena) take(from int) []byte { return a.free[from:len(a.free):len(a.free)] }

func (a *arena) concat(x, y []byte) []byte {
	from := len(a.free)
	a.free = append(append(a.free, x...), y...)
	return a.take(from)
}

// successor is storage.Successor.
func (a *arena) successor(key []byte) []byte {
	from := len(a.free)
	a.free = append(a.free, key...)
	for len(a.free) > from {
		last := len(a.free) - 1
		if a.free[last]++; a.free[last] != 0 {
			return a.take(from)
		}
		a.free = a.free[:last]
	}
	return nil
}

func (s span) contains(key []byte) bool {
	return bytes.Compare(key, s.lo) >= 0 && (s.hi == nil || bytes.Compare(key, s.hi) < 0)
}

// below reports whether a key is above all keys of the span.
func (s span) below(key []byte) bool { return s.hi != nil && bytes.Compare(key, s.hi) >= 0 }
