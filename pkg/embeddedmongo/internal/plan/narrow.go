package plan

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/grams"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

const (
	// mostGrams bounds the trigrams of one literal that a search looks up. Each is an iterator.
	mostGrams = 12
	// fewGrams bounds them where a search has many literals.
	fewGrams = 2
	// mostPostings bounds the iterators of a search.
	mostPostings = 96
)

// term is what the trigrams of a bucket must meet so that documents in it can match: one trigram, all of some terms, or any of them.
type term struct {
	gram     grams.Gram
	all, any []*term
	text     string // Equal for equal terms.
	size     int    // In trigrams.
}

// narrowing is a search in an index of trigrams.
type narrowing struct {
	ix     *storage.Index
	fields []byte // Encoded: those before the texts, which the filter fixes.
	term   *term
}

// narrowing returns the search of the filter in an index of chunks; nil when there is none.
func (c *conjunction) narrowing(from *storage.Reader) *narrowing {
	if !c.narrowed {
		c.narrowed, c.narrow = true, c.searchIn(from)
	}
	return c.narrow
}

func (c *conjunction) searchIn(from *storage.Reader) *narrowing {
	for _, ix := range from.GramIndexes() {
		if !ix.Grams.Chunks {
			continue
		}
		fields, ok := c.equalities(ix.Before())
		if !ok {
			continue
		}
		for _, most := range []int{mostGrams, fewGrams} {
			if t := termOf(filter.And(c.nodes), ix.Grams.Texts, most); t != nil && t.size <= mostPostings {
				return &narrowing{ix: ix, fields: fields, term: t}
			}
		}
	}
	return nil
}

// equalities encodes the values that the filter demands of fields; ok is false unless it demands one of each.
func (c *conjunction) equalities(fields []index.Field) (encoded []byte, ok bool) {
	for _, f := range fields {
		at := slices.IndexFunc(c.byPath[f.Path], func(p predicate) bool {
			return p.origin == nil && p.leaf.Op == filter.Eq && p.leaf.Value.T != bson.TypeArray
		})
		if at < 0 {
			return nil, false
		}
		encoded = value.AppendKey(encoded, c.byPath[f.Path][at].leaf.Value, false)
	}
	return encoded, true
}

// termOf returns what a condition demands of the texts; nil for nothing.
func termOf(n filter.Node, texts []index.Field, most int) *term {
	switch n := n.(type) {
	case filter.And:
		var kids []*term
		for _, k := range n {
			if t := termOf(k, texts, most); t != nil {
				kids = append(kids, t)
			}
		}
		return join(kids, true)
	case filter.Or:
		var kids []*term
		for _, k := range n {
			t := termOf(k, texts, most)
			if t == nil {
				return nil
			}
			kids = append(kids, t)
		}
		return join(kids, false)
	case *filter.Leaf:
		if names(texts, n.Path) {
			return literals(n, most)
		}
	}
	return nil
}

// literals returns the term of a search; nil when all of its texts are too short.
func literals(l *filter.Leaf, most int) *term {
	var kids []*term
	for _, text := range l.Literals() {
		for _, g := range grams.Distinct(text, most) {
			kids = append(kids, &term{gram: g, text: string(g.Append(nil)), size: 1})
		}
	}
	return join(kids, true)
}

// join returns the term of all or any terms, each once; nil when there are none.
func join(kids []*term, all bool) *term {
	slices.SortFunc(kids, func(a, b *term) int { return strings.Compare(a.text, b.text) })
	kids = slices.CompactFunc(kids, func(a, b *term) bool { return a.text == b.text })
	switch len(kids) {
	case 0:
		return nil
	case 1:
		return kids[0]
	}
	t := &term{all: kids}
	// The marks are no bytes of texts in UTF-8.
	texts, mark := make([]string, len(kids)), "\xfe"
	if !all {
		t.all, t.any, mark = nil, kids, "\xff"
	}
	for i, k := range kids {
		texts[i] = k.text
		t.size += k.size
	}
	t.text = mark + strings.Join(texts, mark) + mark
	return t
}
