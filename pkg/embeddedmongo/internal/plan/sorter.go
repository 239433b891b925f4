package plan

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
)

// sortMemory bounds what a sort without an index keeps, as in MongoDB.
const sortMemory = 100 << 20

// setEntry is the memory of an entry of a set beside its value, in bytes.
const setEntry = 48

// checkMemory returns an error once a set of the query takes more than its memory.
func (q *Query) checkMemory(what string, size int64) error {
	if most := cmp.Or(q.memory, sortMemory); size > most {
		return mongoerr.New(mongoerr.SortMemory, "%s exceeded the memory limit of %d bytes", what, most)
	}
	return nil
}

// sorter sorts rows in memory; with keep > 0 it only keeps the first so many. Equal keys stay in the order of arrival.
type sorter struct {
	by    *index.Sort
	keep  int64
	items []item
	size  int
	n     int
	at    int
}

type item struct {
	key []byte
	seq int
	row Row
}

func (it item) size() int { return len(it.row.Doc) + len(it.row.ID) + len(it.key) }

func newSorter(by *index.Sort, keep int64) *sorter { return &sorter{by: by, keep: keep} }

func less(a, b item) int {
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c
	}
	return a.seq - b.seq
}

// The heap has the last of the kept items on top.
func (s *sorter) Len() int           { return len(s.items) }
func (s *sorter) Less(i, j int) bool { return less(s.items[i], s.items[j]) > 0 }
func (s *sorter) Swap(i, j int)      { s.items[i], s.items[j] = s.items[j], s.items[i] }
func (s *sorter) Push(x any)         { s.items = append(s.items, x.(item)) }
func (s *sorter) Pop() any {
	x := s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	return x
}

func (s *sorter) add(r Row) error {
	key, err := s.by.Key(r.Doc)
	if err != nil {
		return err
	}
	it := item{key: key, seq: s.n}
	s.n++
	if s.keep > 0 && int64(len(s.items)) == s.keep {
		if less(it, s.items[0]) > 0 {
			return nil
		}
		s.size -= s.items[0].size()
		heap.Pop(s)
	}
	it.row = Row{ID: bytes.Clone(r.ID), Doc: bytes.Clone(r.Doc)}
	if s.size += it.size(); s.size > sortMemory {
		return mongoerr.New(mongoerr.SortMemory, "the sort exceeded the memory limit of %d bytes; an index on its fields avoids it", sortMemory)
	}
	if s.keep > 0 {
		heap.Push(s, it)
	} else {
		s.items = append(s.items, it)
	}
	return nil
}

func (s *sorter) finish(skip int64) {
	slices.SortFunc(s.items, less)
	s.at = int(min(skip, int64(len(s.items))))
}

func (s *sorter) next() (Row, bool) {
	if s.at >= len(s.items) {
		return Row{}, false
	}
	r := s.items[s.at].row
	s.items[s.at] = item{}
	s.at++
	return r, true
}
