package storage

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// filterBits is the size of a bloom filter in bits per key: about 1 % of the look-ups of absent keys read a block.
const filterBits = 10

// documentFilter is a bloom filter of all keys except index entries. Index entries are only read by iterating over ranges, which
// uses no filter, and there are several for each document. A Get of an index entry would not find it.
type documentFilter struct{ bloom.FilterPolicy }

// NewWriter implements pebble.FilterPolicy.
func (f documentFilter) NewWriter(kind pebble.FilterType) pebble.FilterWriter {
	return &documentFilterWriter{FilterWriter: f.FilterPolicy.NewWriter(kind), yield: newYielder()}
}

type documentFilterWriter struct {
	pebble.FilterWriter
	yield yielder
}

// AddKey implements pebble.FilterWriter. Pebble calls it for each key of a table, in the goroutine of the flush or compaction.
func (w *documentFilterWriter) AddKey(key []byte) {
	w.yield.step()
	if len(key) == 0 || key[0] != tagIndex {
		w.FilterWriter.AddKey(key)
	}
}
