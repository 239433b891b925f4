package storage

import (
	"bytes"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/grams"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

const (
	// maxGramText and maxGramValue bound the bytes whose trigrams a document adds to a chunk, and to the bucket of its value. Beyond them
	// the bucket counts as one with all trigrams, so a write has a bound and no search misses the document.
	maxGramText  = 16 << 10
	maxGramValue = 256
	// recentBytes bounds the memory of the postings that an index remembers, twice.
	recentBytes = 4 << 20
)

// recent remembers the postings of an index that are in the store, so writes do not repeat them. A posting is remembered only once its
// batch has been applied. A batch that relies on it then follows it in the log, so no crash loses only the first. The mutex of the
// collection guards the other end: writers hold it shared from the question until their batch is applied, and a removal of postings
// holds it exclusively.
//
// Buckets that are not asked for are forgotten after two turns.
type recent struct {
	mu          sync.Mutex
	now, before map[string]*grams.Set // By fields and bucket. The set of a value is nil: it has all of its trigrams.
	bytes       int                   // Of now.
}

// bucketCost is the memory of a bucket beside its key and its set, in bytes.
const bucketCost = 64

// bucket returns the set of a bucket. ok is false when nothing is known about it. The caller holds mu.
func (r *recent) bucket(key []byte) (set *grams.Set, ok bool) {
	if set, ok = r.now[string(key)]; ok {
		return set, true
	}
	if set, ok = r.before[string(key)]; ok {
		r.put(string(key), set)
	}
	return set, ok
}

// put remembers a bucket. The caller holds mu.
func (r *recent) put(key string, set *grams.Set) {
	if r.bytes > recentBytes {
		r.before, r.now, r.bytes = r.now, nil, 0
	}
	if r.now == nil {
		r.now = map[string]*grams.Set{}
	}
	r.now[key] = set
	r.bytes += len(key) + bucketCost
	if set != nil {
		r.bytes += set.Bytes()
	}
}

// forget forgets a bucket.
func (r *recent) forget(key []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.now, string(key))
	delete(r.before, string(key))
}

// postings are the postings that one batch adds.
type postings struct {
	c       *Collection
	buckets []newBucket
	texts   bucketTexts
	missing []grams.Gram // Buffer.
	posting []byte       // Buffer.
}

// newBucket are the new postings of a bucket.
type newBucket struct {
	ix    *Index
	key   string // Fields and bucket.
	grams grams.Set
	list  []grams.Gram
}

// add adds the postings of a document that are not in the store yet to a batch.
func (p *postings) add(b *pebble.Batch, ix *Index, memory *index.Memory, d value.Doc) error {
	return p.texts.each(ix, memory, d, func(key []byte, fields int) error {
		pending := p.pending(ix, key)
		if pending != nil && !ix.Grams.Chunks {
			return nil
		}
		if p.find(ix, key); len(p.missing) == 0 {
			return nil
		}
		if pending == nil {
			p.buckets = append(p.buckets, newBucket{ix: ix, key: string(key)})
			pending = &p.buckets[len(p.buckets)-1]
		}
		for _, g := range p.missing {
			if !pending.grams.Add(g) {
				continue
			}
			pending.list = append(pending.list, g)
			p.posting = p.c.appendPosting(p.posting[:0], ix, key, fields, g)
			if err := b.Set(p.posting, nil, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// pending returns the bucket of a key among those of the batch; nil when it is not among them.
func (p *postings) pending(ix *Index, key []byte) *newBucket {
	for i := range p.buckets {
		if n := &p.buckets[i]; n.ix == ix && n.key == string(key) {
			return n
		}
	}
	return nil
}

// find sets the trigrams of the texts that the index does not remember for a bucket.
func (p *postings) find(ix *Index, key []byte) {
	p.missing = p.missing[:0]
	ix.recent.mu.Lock()
	defer ix.recent.mu.Unlock()
	set, known := ix.recent.bucket(key)
	if known && set == nil {
		return
	}
	p.texts.grams(func(g grams.Gram) {
		if set == nil || !set.Has(g) {
			p.missing = append(p.missing, g)
		}
	})
}

// publish remembers the postings of a batch that has been applied. The caller still holds the collection's mutex shared.
func (p *postings) publish() {
	for i := range p.buckets {
		p.buckets[i].ix.recent.add(&p.buckets[i])
	}
}

// add remembers the postings of a bucket.
func (r *recent) add(n *newBucket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !n.ix.Grams.Chunks {
		r.put(n.key, nil)
		return
	}
	set, known := r.bucket([]byte(n.key))
	if !known {
		set = &grams.Set{}
		*set = n.grams
		r.put(n.key, set)
		return
	}
	before := set.Bytes()
	for _, g := range n.list {
		set.Add(g)
	}
	r.bytes += set.Bytes() - before
}

// bucketTexts derives the buckets of a document, and the folded texts in them. It is a buffer that is reused.
type bucketTexts struct {
	folded []byte
	ends   []int // Of the texts in folded.
	key    []byte
	size   int  // Of the texts of the document.
	all    bool // It has a value that a search finds by any text.
	known  *knownTexts
}

// knownTexts are texts of earlier documents of an insert batch whose trigrams the store or the batch has in one bucket of a chunk. Events
// and logs repeat their names and labels, so most texts need no trigrams of their own. The texts belong to the documents of the batch.
// Nil knows none.
type knownTexts struct {
	ix    *Index
	key   []byte // The bucket.
	texts [16][]byte
	n     int // How many texts were added; each replaces the oldest.
}

// keep prepares for a document of a bucket.
func (k *knownTexts) keep(ix *Index, key []byte) {
	if k != nil && (k.ix != ix || !bytes.Equal(k.key, key)) {
		*k = knownTexts{ix: ix, key: append(k.key[:0], key...)}
	}
}

// meets reports whether a text is known, and remembers it otherwise.
func (k *knownTexts) meets(text []byte) bool {
	if k == nil {
		return false
	}
	for _, known := range k.texts[:min(k.n, len(k.texts))] {
		if bytes.Equal(known, text) {
			return true
		}
	}
	k.texts[k.n%len(k.texts)] = text
	k.n++
	return false
}

// each calls f with the key of each bucket, which is fields and bucket, and the length of its fields. The texts are those of the bucket
// meanwhile.
func (t *bucketTexts) each(ix *Index, memory *index.Memory, d value.Doc, f func(key []byte, fields int) error) error {
	// A document with parallel arrays is in no index of entries with these fields. Without one, no search reads the postings.
	keys := index.EntriesIn(memory, d, ix.Fields)
	for _, fields := range keys.Keys {
		at := prefixLen(ix, fields, len(ix.Fields)-1)
		t.key = append(t.key[:0], fields[:at]...)
		switch {
		case ix.Grams.Chunks:
			t.key = AppendChunk(t.key, Chunk(fields[at:]))
			if !t.foldTexts(ix, d) {
				continue
			}
		case !t.foldValue(fields[at:]):
			continue
		default:
			t.key = append(t.key, fields[at:]...)
		}
		if err := f(t.key, at); err != nil {
			return err
		}
	}
	return nil
}

// grams calls f with the trigrams of the texts.
func (t *bucketTexts) grams(f func(grams.Gram)) {
	from := 0
	for _, end := range t.ends {
		grams.Of(t.folded[from:end], f)
		from = end
	}
}

// foldTexts folds the texts of a document that are not known in the bucket; false when there are none.
func (t *bucketTexts) foldTexts(ix *Index, d value.Doc) bool {
	t.folded, t.ends, t.size, t.all = t.folded[:0], t.ends[:0], 0, false
	t.known.keep(ix, t.key)
	for _, text := range ix.Grams.Texts {
		t.foldAt(value.OfDoc(d), text.Parts())
	}
	if t.all || t.size > maxGramText {
		t.setAny()
	}
	return len(t.folded) > 0
}

// foldAt folds the values that conditions on a path test: at its end, through arrays, and the elements of an array there.
func (t *bucketTexts) foldAt(v value.Value, parts []string) {
	switch {
	case v.T == bson.TypeArray:
		for it := v.Doc().Iter(); ; {
			_, e, ok := it.Next()
			if !ok {
				return
			}
			t.foldAt(e, parts)
		}
	case len(parts) > 0:
		if v.T == bson.TypeEmbeddedDocument {
			t.foldAt(v.Doc().Get(parts[0]), parts[1:])
		}
	case v.T == bson.TypeString || v.T == bson.TypeSymbol:
		s := v.B[4 : len(v.B)-1]
		if t.size += len(s); t.size <= maxGramText && !t.known.meets(s) {
			t.add(grams.Fold(t.folded, s))
		}
	case v.T == bson.TypeRegex: // It is found by an equal expression.
		t.all = true
	}
}

// foldValue folds an encoded value; false when no search finds it.
func (t *bucketTexts) foldValue(field []byte) bool {
	t.folded, t.ends = t.folded[:0], t.ends[:0]
	text, ok := textOf(field)
	switch {
	case field[0] == value.ClassRegex, ok && len(text) > maxGramValue:
		t.setAny()
	case ok:
		t.add(grams.Fold(t.folded, text))
	}
	return len(t.folded) > 0
}

func (t *bucketTexts) add(folded []byte) { t.folded, t.ends = folded, append(t.ends, len(folded)) }

func (t *bucketTexts) setAny() {
	t.ends = t.ends[:0]
	t.add(grams.Any.Append(t.folded[:0]))
}
