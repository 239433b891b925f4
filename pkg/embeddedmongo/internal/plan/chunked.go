package plan

import (
	"bytes"
	"errors"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// chunked leaves out the keys in chunks of time without the trigrams of a search. One sequence of keys is not even read there.
//
//	time of the keys  ──┤ ✗ ├──┤ ✓ ├──┤ ✗ ├──┤ ✗ ├──┤ ✓ ├──▶
//	                        seek │      ────seek────▶│
type chunked struct {
	keys

	p      *Plan
	at     int       // The position of the time among the fields.
	line   *sequence // nil when the keys are of several ranges.
	posted posted
	found  buckets
	chunk  uint64 // The last one that was found.
	known  bool
	bucket []byte // Buffers.
	seek   []byte
}

// chunkField is the position of the time of the plan's search among the fields; -1 when the keys are not in its order.
func (p *Plan) chunkField() int {
	if p.narrow == nil || p.ix.IsID() {
		return -1
	}
	at, fields := p.fixed(), p.narrow.ix.Fields
	ordered := len(p.spans) == 1 || p.merge || len(p.also) > 0
	if !ordered || at == len(p.ix.Fields) || p.ix.Fields[at].Path != fields[len(fields)-1].Path || p.ix.Fields[at].Desc {
		return -1
	}
	return at
}

// skipsChunks reports whether the plan reads no keys of the chunks that its search leaves out.
func (p *Plan) skipsChunks() bool {
	return p.chunkField() >= 0 && len(p.spans) == 1 && len(p.also) == 0
}

// narrowed narrows the keys of the plan by its search.
func (p *Plan) narrowed(v *storage.View, ks keys) (keys, error) {
	at := p.chunkField()
	if at < 0 {
		return ks, nil
	}
	c := &chunked{keys: ks, p: p, at: at, posted: posted{view: v, reverse: p.reverse, expired: p.q.Expired}}
	if len(p.spans) == 1 {
		c.line, _ = ks.(*sequence)
	}
	var err error
	c.found, err = c.posted.open(p.c, p.narrow.ix, p.narrow.fields, p.narrow.term)
	return c, err
}

func (c *chunked) next() bool {
	for ok := c.keys.next(); ok; {
		begin, end := c.p.fieldAt(c.keys.key(), c.at)
		chunk := storage.Chunk(c.keys.key()[begin:end])
		if c.known && chunk == c.chunk {
			return true
		}
		c.bucket = storage.AppendChunk(c.bucket[:0], chunk)
		b := c.found.reach(c.bucket)
		if b == nil {
			return false
		}
		c.chunk, c.known = storage.ChunkOf(b), true
		switch {
		case chunk == c.chunk:
			return true
		case c.line != nil:
			ok = c.line.jump(c.start())
		default:
			ok = c.keys.next()
		}
		if !c.posted.step(seekCost) {
			return false
		}
	}
	return false
}

// start is the key at which the chunk begins, in the order of the walk.
func (c *chunked) start() []byte {
	s := c.line.spans[0]
	c.seek = append(c.seek[:0], s.lo[:s.at]...)
	switch {
	case !c.line.reverse:
		c.seek = storage.AppendChunkStart(c.seek, c.chunk)
		if bytes.Compare(c.seek, s.lo) < 0 {
			return s.lo
		}
	case c.chunk == storage.LastChunk:
		return s.hi
	default:
		c.seek = storage.AppendChunkStart(c.seek, c.chunk+1)
		if s.hi != nil && bytes.Compare(c.seek, s.hi) > 0 {
			return s.hi
		}
	}
	return c.seek
}

func (c *chunked) err() error { return errors.Join(c.posted.failed, c.keys.err()) }

// jump moves to the first key from one on, or backward to the last one before it, and reports whether it is in the span. There is one span.
func (s *sequence) jump(to []byte) bool {
	var ok bool
	switch {
	case s.reverse && to == nil:
		ok = s.it.Last()
	case s.reverse:
		ok = s.it.SeekLT(to)
	default:
		ok = s.it.SeekGE(to)
	}
	if ok && s.spans[0].contains(s.it.Key()) {
		return true
	}
	s.at = len(s.spans)
	return false
}
