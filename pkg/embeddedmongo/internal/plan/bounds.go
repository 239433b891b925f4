package plan

import (
	"bytes"

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
	prefixes := [][]byte{header}
	for i, b := range bs {
		if b.points == nil {
			out := make([]span, 0, len(prefixes))
			for _, p := range prefixes {
				hi := successor(p)
				if b.hi != nil {
					hi = concat(p, b.hi)
				}
				// Contradicting bounds are an empty range, which an iterator does not accept.
				if s := (span{lo: concat(p, b.lo), hi: hi, at: len(p)}); hi == nil || bytes.Compare(s.lo, hi) < 0 {
					out = append(out, s)
				}
			}
			return out
		}
		if i == 0 && len(b.points) == 1 {
			prefixes[0] = concat(header, b.points[0])
			continue
		}
		next := make([][]byte, 0, len(prefixes)*len(b.points))
		for _, p := range prefixes {
			for _, x := range b.points {
				next = append(next, concat(p, x))
			}
		}
		prefixes = next
	}
	out := make([]span, len(prefixes))
	for i, p := range prefixes {
		out[i] = span{lo: p, hi: successor(p), at: len(p)}
	}
	return out
}

func concat(a, b []byte) []byte {
	return append(append(make([]byte, 0, len(a)+len(b)), a...), b...)
}

func (s span) contains(key []byte) bool {
	return bytes.Compare(key, s.lo) >= 0 && (s.hi == nil || bytes.Compare(key, s.hi) < 0)
}
