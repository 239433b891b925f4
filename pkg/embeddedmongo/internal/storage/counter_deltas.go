package storage

import "github.com/cockroachdb/pebble/v2"

// counterDeltas accumulates the counter changes of one batch: one record a counter, however many documents. Likewise it has one posting
// for each trigram.
type counterDeltas struct {
	c     *Collection
	docs  int64
	below map[string]int64 // By the key of a prefix counter.
	// postings are those that the batch adds.
	postings postings
}

func (t *counterDeltas) add(ix *Index, p prefixChange) {
	if t.below == nil {
		t.below = map[string]int64{}
	}
	t.below[string(t.c.prefixKey(ix, p.n, p.prefix))] += p.delta
}

func (t *counterDeltas) write(b *pebble.Batch) error {
	if t.docs != 0 {
		if err := addCounter(b, tagged(tagCount, t.c.ID), t.docs); err != nil {
			return err
		}
	}
	for key, delta := range t.below {
		if err := addCounter(b, []byte(key), delta); err != nil {
			return err
		}
	}
	return nil
}

// publish applies the deltas of a written batch to what is in memory. The caller still holds the collection's mutex shared.
func (t *counterDeltas) publish() {
	t.c.count.Add(t.docs)
	t.postings.publish()
}
