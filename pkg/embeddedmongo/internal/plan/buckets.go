package plan

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/grams"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// buckets lists the buckets of an index of trigrams that meet a term, in ascending or descending order.
//
//	"run" │ 1   2   3       5   6       8        all: each posting seeks the greatest bucket of the others
//	"un " │ 1       3       5           8
//	"742" │             4   5           8
//	                        ▲           ▲
type buckets interface {
	// reach returns the first bucket from one on, or the first one of all from nil on; nil at the end. Its argument does not precede
	// earlier ones. The result is valid until the next call.
	reach(from []byte) []byte
}

// posted is the state that the postings of a search share.
type posted struct {
	view    *storage.View
	reverse bool
	expired func() error // nil for no limit.
	steps   int64        // Keys read, a seek as seekCost of them.
	checked int64        // The steps at the last check of the time limit.
	failed  error
}

// open starts a search for a term below encoded fields.
func (s *posted) open(c *storage.Reader, ix *storage.Index, fields []byte, t *term) (buckets, error) {
	found, err := s.openTerm(c, ix, fields, t)
	if err != nil {
		return nil, err
	}
	every, err := s.openTerm(c, ix, fields, &term{gram: grams.Any})
	if err != nil {
		return nil, err
	}
	return &anyOf{s: s, kids: []buckets{found, every}}, nil
}

func (s *posted) openTerm(c *storage.Reader, ix *storage.Index, fields []byte, t *term) (buckets, error) {
	if len(t.all)+len(t.any) == 0 {
		prefix := c.GramPrefix(ix, fields, t.gram)
		it, err := s.view.Iter(prefix, successor(prefix))
		return &posting{s: s, it: it, prefix: prefix}, err
	}
	kids := make([]buckets, 0, len(t.all)+len(t.any))
	for _, k := range slices.Concat(t.all, t.any) {
		b, err := s.openTerm(c, ix, fields, k)
		if err != nil {
			return nil, err
		}
		kids = append(kids, b)
	}
	if len(t.any) > 0 {
		return &anyOf{s: s, kids: kids}, nil
	}
	return &allOf{kids: kids}, nil
}

// compare compares buckets in the order of the walk.
func (s *posted) compare(a, b []byte) int {
	if s.reverse {
		return bytes.Compare(b, a)
	}
	return bytes.Compare(a, b)
}

// step accounts for some reading, and reports whether it may go on.
func (s *posted) step(cost int64) bool {
	if s.steps += cost; s.steps-s.checked >= expiredAfter && s.expired != nil && s.failed == nil {
		s.checked, s.failed = s.steps, s.expired()
	}
	return s.failed == nil
}

// posting lists the buckets of one trigram.
type posting struct {
	s      *posted
	it     *pebble.Iterator
	prefix []byte
	key    []byte // Buffer.
	begun  bool
	ended  bool
}

func (p *posting) reach(from []byte) []byte {
	if p.ended {
		return nil
	}
	if p.begun {
		for range nearKeys {
			if b := p.it.Key()[len(p.prefix):]; from == nil || p.s.compare(b, from) >= 0 {
				return b
			}
			if !p.moved(p.next(), 1) {
				return nil
			}
		}
		if b := p.it.Key()[len(p.prefix):]; p.s.compare(b, from) >= 0 {
			return b
		}
	}
	p.begun = true
	if !p.moved(p.seek(from), seekCost) {
		return nil
	}
	return p.it.Key()[len(p.prefix):]
}

func (p *posting) next() bool {
	if p.s.reverse {
		return p.it.Prev()
	}
	return p.it.Next()
}

func (p *posting) seek(from []byte) bool {
	p.key = append(append(p.key[:0], p.prefix...), from...)
	switch {
	case from == nil && p.s.reverse:
		return p.it.Last()
	case p.s.reverse:
		return p.it.SeekLT(append(p.key, 0)) // From itself on.
	}
	return p.it.SeekGE(p.key)
}

// moved reports whether the iterator is on a posting.
func (p *posting) moved(ok bool, cost int64) bool {
	if !ok && p.s.failed == nil {
		p.s.failed = storage.Error(p.it.Error())
	}
	if !p.s.step(cost) || !ok {
		p.ended = true
	}
	return !p.ended
}

// allOf lists the buckets that all of its kids list. A kid that lacks a bucket is asked first from then on, so the rarest one leads.
type allOf struct {
	kids []buckets
	at   []byte
}

func (a *allOf) reach(from []byte) []byte {
	if from != nil {
		a.at = append(a.at[:0], from...)
	}
	for i, agreed := 0, 0; agreed < len(a.kids); i = (i + 1) % len(a.kids) {
		b := a.kids[i].reach(from)
		switch {
		case b == nil:
			return nil
		case from != nil && bytes.Equal(b, from):
			agreed++
			continue
		}
		a.at = append(a.at[:0], b...)
		from, agreed = a.at, 1
		first := a.kids[i]
		copy(a.kids[1:i+1], a.kids[:i])
		a.kids[0], i = first, 0
	}
	return a.at
}

// anyOf lists the buckets that any of its kids lists.
type anyOf struct {
	s    *posted
	kids []buckets
}

func (a *anyOf) reach(from []byte) (first []byte) {
	for _, k := range a.kids {
		if b := k.reach(from); b != nil && (first == nil || a.s.compare(b, first) < 0) {
			first = b
		}
	}
	return first
}
