package storage

import "github.com/cockroachdb/pebble/v2"

// counterDeltas accumulates the counter changes of one batch: one record a counter, however many documents. Likewise it has one posting
// for each trigram.
type counterDeltas struct {
	c     *Collection
	docs  int64
	below map[string]*countChange // By the key of a prefix counter.
	keys  []keyChange
	first [16]keyChange // Memory of keys: most writes need no other.
	// postings are those that the batch adds.
	postings postings
}

// keyChange is a key that a block gains or loses.
type keyChange struct {
	block *keyBlock
	delta int64
}

// key adds a change of the number of keys in a block, if the index has blocks there.
func (t *counterDeltas) key(ix *Index, key []byte, delta int64) {
	if b := ix.blocks.of(key); b != nil {
		if t.keys == nil {
			t.keys = t.first[:0]
		}
		t.keys = append(t.keys, keyChange{b, delta})
	}
}

type countChange struct {
	ix    *Index
	delta int64
}

func (t *counterDeltas) add(ix *Index, p prefixChange) {
	if t.below == nil {
		t.below = map[string]*countChange{}
	}
	key := t.c.prefixKey(ix, p.n, p.prefix)
	if change := t.below[string(key)]; change != nil {
		change.delta += p.delta
		return
	}
	t.below[string(key)] = &countChange{ix, p.delta}
}

func (t *counterDeltas) write(b *pebble.Batch) error {
	if t.docs != 0 {
		if err := addCounter(b, tagged(tagCount, t.c.ID), t.docs); err != nil {
			return err
		}
	}
	for key, change := range t.below {
		if err := addCounter(b, []byte(key), change.delta); err != nil {
			return err
		}
	}
	return nil
}

// publish applies the deltas of a written batch to the cached counters. The caller still holds the collection's mutex shared, so a
// reader that loads a counter under the exclusive lock sees both changes or neither.
func (t *counterDeltas) publish() {
	t.c.count.Add(t.docs)
	t.postings.publish()
	for _, k := range t.keys {
		k.block.keys.Add(k.delta)
	}
	for key, change := range t.below {
		change.ix.addCount(key, change.delta)
	}
}

func (ix *Index) addCount(key string, delta int64) {
	ix.countMu.Lock()
	defer ix.countMu.Unlock()
	if n, ok := ix.counts[key]; ok {
		ix.counts[key] = n + delta
	}
}
