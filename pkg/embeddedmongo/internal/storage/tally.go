package storage

import "github.com/cockroachdb/pebble/v2"

// tally gathers what the writes of one batch do to a collection's counters: one record of each, however many documents.
type tally struct {
	c     *Collection
	docs  int64
	below map[string]*countChange // By the key of a prefix counter.
}

type countChange struct {
	ix    *Index
	delta int64
}

func (t *tally) add(ix *Index, p prefixChange) {
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

func (t *tally) write(b *pebble.Batch) error {
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

// publish carries the counters of an applied batch over to memory. The collection's mutex is still held shared, so whoever
// loads a counter under the exclusive lock sees both or neither.
func (t *tally) publish() {
	t.c.count.Add(t.docs)
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
