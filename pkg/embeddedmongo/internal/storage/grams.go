package storage

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/grams"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Grams describe an index of trigrams. Its keys are postings: they say that a trigram occurs in a bucket of documents.
//
//	{ws: 1, name: "grams"}                               i coll(4) index(2) ws gram(3) name
//	{ws: 1, at: "chunks", message: "grams", …: "grams"}  i coll(4) index(2) ws gram(3) chunk(8)
//
// A bucket is the value of the text itself, or all documents of a chunk of time, whose texts share postings. A posting may outlive the
// documents of its bucket, so a search tests what it finds. The fields of the index are those before the texts, and the field that the
// bucket is made of. They come first in the index of entries by which a search finds the documents of a bucket.
type Grams struct {
	Texts  []index.Field
	Chunks bool
}

// Types of keys in a specification.
const (
	gramsType  = "grams"
	chunksType = "chunks"
)

// ChunkBits is the length of a chunk: 2^25 microseconds are 34 seconds. A search reads whole chunks, and each chunk has each of its
// trigrams once.
const ChunkBits = 25

// addTextKey adds a key of an index of trigrams.
func (ix *Index) addTextKey(path, kind string) error {
	switch {
	case kind != gramsType && kind != chunksType:
		return mongoerr.NotImplemented("index type %q on %s", kind, path)
	case ix.Grams == nil:
		ix.Grams = &Grams{}
	}
	g := ix.Grams
	if kind == gramsType {
		g.Texts = append(g.Texts, index.NewField(path, false))
		return nil
	}
	if g.Chunks || len(g.Texts) > 0 {
		return mongoerr.New(mongoerr.CannotCreateIndex, "an index of trigrams has one key of chunks, before its texts, not %s", path)
	}
	g.Chunks, ix.Fields = true, append(ix.Fields, index.NewField(path, false))
	return nil
}

// checkTextKeys checks the keys of an index of trigrams as a whole.
func (ix *Index) checkTextKeys() error {
	g := ix.Grams
	if g == nil {
		return nil
	}
	keys := 0
	for it := value.Doc(ix.Spec.Key).Iter(); ; keys++ {
		_, v, ok := it.Next()
		if !ok {
			break
		}
		if v.IsNumber() && (v.Float() < 0 || keys >= len(ix.Fields) || g.Chunks && keys == len(ix.Fields)-1) {
			return mongoerr.New(mongoerr.CannotCreateIndex, "the texts of an index of trigrams follow its ascending keys")
		}
	}
	switch s := ix.Spec; {
	case len(g.Texts) == 0 || !g.Chunks && len(g.Texts) > 1:
		return mongoerr.New(mongoerr.CannotCreateIndex, "an index of trigrams has one text, or a key of chunks and texts")
	case s.Unique || s.Sparse || len(s.Partial) > 0 || s.Expire != nil:
		return mongoerr.New(mongoerr.CannotCreateIndex, "an index of trigrams is not unique, sparse, partial or TTL")
	}
	for _, text := range g.Texts {
		if slices.ContainsFunc(text.Parts(), func(part string) bool { _, ok := value.ParseIndex(part); return ok }) {
			return mongoerr.New(mongoerr.CannotCreateIndex, "a text of an index of trigrams has no position: %s", text.Path)
		}
	}
	if !g.Chunks {
		ix.Fields = append(ix.Fields, g.Texts[0])
	}
	return nil
}

// Chunk is the chunk of an encoded time. Chunks have the order of times. All values that are not numbers are in the first or the last one.
func Chunk(field []byte) uint64 {
	switch {
	case field[0] < value.ClassNumber:
		return 0
	case field[0] > value.ClassNumber:
		return LastChunk
	}
	u := binary.BigEndian.Uint64(field[1:])
	if u>>63 == 0 {
		u = ^u
	} else {
		u &^= 1 << 63
	}
	n := math.Floor(math.Float64frombits(u) / (1 << ChunkBits))
	switch {
	case !(n > -maxChunk): // NaN precedes all numbers.
		return 1
	case n > maxChunk:
		return chunkZero + maxChunk
	}
	return uint64(int64(n) + chunkZero)
}

// LastChunk has the values that follow all numbers.
const LastChunk uint64 = math.MaxUint64

const (
	// maxChunk bounds chunks, so that each has an exact time.
	maxChunk = 1 << 52
	// chunkZero is the chunk of the time 0. The lowest chunk of a number is 1.
	chunkZero = maxChunk + 1
)

// AppendChunkStart appends a bound of the encoded times of a chunk: those of earlier chunks are below, all others are not.
func AppendChunkStart(b []byte, chunk uint64) []byte {
	switch {
	case chunk == 0:
		return b
	case chunk == 1:
		return append(b, value.ClassNumber)
	case chunk > chunkZero+maxChunk:
		return append(b, value.ClassNumber+1)
	}
	start := math.Ldexp(float64(int64(chunk)-chunkZero), ChunkBits)
	// The encoding ends with the side of the double on which a number is. A bound leaves it out.
	b = value.AppendKey(b, value.OfDouble(start), false)
	return b[:len(b)-1]
}

// AppendChunk appends the bucket of a chunk.
func AppendChunk(b []byte, chunk uint64) []byte { return binary.BigEndian.AppendUint64(b, chunk) }

// ChunkOf is the chunk of a bucket.
func ChunkOf(bucket []byte) uint64 { return binary.BigEndian.Uint64(bucket) }

// GramPrefix is the prefix of the postings of a trigram below the encoded fields before the texts.
func (c *Collection) GramPrefix(ix *Index, fields []byte, g grams.Gram) []byte {
	return g.Append(append(c.IndexPrefix(ix), fields...))
}

// appendPosting appends the key of a posting of a bucket, whose fields have a length.
func (c *Collection) appendPosting(b []byte, ix *Index, bucket []byte, fields int, g grams.Gram) []byte {
	header := indexHeader(tagIndex, c.ID, ix.Spec.ID)
	b = append(append(b, header[:]...), bucket[:fields]...)
	return append(g.Append(b), bucket[fields:]...)
}

// splitPosting divides the key of a posting into its fields and bucket.
func (ix *Index) splitPosting(key []byte) (fields, bucket []byte) {
	rest := key[IndexHeader:]
	at := prefixLen(ix, rest, len(ix.Fields)-1)
	return rest[:at], rest[at+grams.Size:]
}

// Range is the range of keys [Lo, Hi).
type Range struct{ Lo, Hi []byte }

// BucketRange is the range of keys that the documents of a bucket have in an index that lists them.
func (c *Collection) BucketRange(ix, text *Index, fields, bucket []byte) Range {
	lo := append(c.IndexPrefix(ix), fields...)
	if !text.Grams.Chunks {
		lo = append(lo, bucket...)
		return Range{lo, Successor(lo)}
	}
	chunk := ChunkOf(bucket)
	hi := Successor(lo)
	if chunk != LastChunk {
		hi = AppendChunkStart(bytes.Clone(lo), chunk+1)
	}
	return Range{AppendChunkStart(lo, chunk), hi}
}

// Before are the fields before the one of which buckets are made.
func (ix *Index) Before() []index.Field { return ix.Fields[:len(ix.Fields)-1] }

// Lists reports whether the index has the documents of each bucket of an index of trigrams in one range.
func (ix *Index) Lists(text *Index) bool {
	if ix.IsID() || ix.Partial != nil || ix.Spec.Sparse || len(ix.Fields) < len(text.Fields) {
		return false
	}
	for i, f := range text.Fields {
		if ix.Fields[i].Path != f.Path || ix.Fields[i].Desc {
			return false
		}
	}
	return true
}

// textOf returns the bytes of a string, without a copy where it has no NUL byte; ok is false for other encoded values.
func textOf(field []byte) (text []byte, ok bool) {
	if field[0] != value.ClassString {
		return nil, false
	}
	text = field[1 : len(field)-2]
	if bytes.IndexByte(text, 0) < 0 {
		return text, true
	}
	v, _, ok := value.ReadKey(field, false, nil)
	return []byte(v.Str()), ok
}
