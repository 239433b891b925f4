package storage

import (
	"bytes"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// prefixChange is a change of the number of documents below one prefix of n fields.
type prefixChange struct {
	n      int
	prefix []byte
	delta  int64
}

// prefixLen is the length of the first n encoded fields.
func prefixLen(ix *Index, key []byte, n int) int {
	at := 0
	for i := range n {
		at += value.KeyLen(key[at:], ix.Fields[i].Desc)
	}
	return at
}

// prefixChanges compares the distinct prefixes of a document before and after a write.
func prefixChanges(memory *index.Memory, ix *Index, counted uint32, before, after [][]byte) []prefixChange {
	var out []prefixChange
	for n := 1; n <= len(ix.Fields); n++ {
		if counted&prefixBit(n) == 0 {
			continue
		}
		b, a := distinctPrefixes(ix, before, n), distinctPrefixes(ix, after, n)
		for _, p := range memory.Minus(b, a) {
			out = append(out, prefixChange{n, p, -1})
		}
		for _, p := range memory.Minus(a, b) {
			out = append(out, prefixChange{n, p, 1})
		}
	}
	return out
}

func distinctPrefixes(ix *Index, keys [][]byte, n int) [][]byte {
	var out [][]byte
	for _, k := range keys {
		p := k[:prefixLen(ix, k, n)]
		if len(out) == 0 || !bytes.Equal(out[len(out)-1], p) {
			out = append(out, p)
		}
	}
	return out
}

func (c *Collection) prefixKey(ix *Index, n int, prefix []byte) []byte {
	b := append(taggedIndex(tagPrefix, c.ID, ix.Spec.ID), byte(n))
	return append(b, prefix...)
}
