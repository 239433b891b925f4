package aggregate

import (
	"bytes"
	"slices"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/project"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// memory bounds the state of a blocking stage, in bytes.
const memory = 100 << 20

func tooMuch(stage string) error {
	return mongoerr.New(mongoerr.SortMemory, "%s exceeded the memory limit of %d bytes", stage, memory)
}

type matching struct {
	in Source
	f  *filter.Filter
}

func (m *matching) Next() (value.Doc, bool, error) {
	for {
		d, ok, err := m.in.Next()
		if err != nil || !ok {
			return nil, false, err
		}
		if m.f.Match(d) {
			return d, true, nil
		}
	}
}

type mapping struct {
	in Source
	p  *project.Projection
}

func (m *mapping) Next() (value.Doc, bool, error) {
	d, ok, err := m.in.Next()
	if err != nil || !ok {
		return nil, false, err
	}
	d, err = m.p.Apply(d, -1)
	return d, err == nil, err
}

// window skips, then limits; limit -1 is none.
type window struct {
	in          Source
	skip, limit int64
}

func (w *window) Next() (value.Doc, bool, error) {
	for ; w.skip > 0; w.skip-- {
		if _, ok, err := w.in.Next(); err != nil || !ok {
			return nil, false, err
		}
	}
	if w.limit == 0 {
		return nil, false, nil
	}
	if w.limit > 0 {
		w.limit--
	}
	return w.in.Next()
}

type sorting struct {
	in    Source
	by    *index.Sort
	ready bool
	list  []sortItem
}

type sortItem struct {
	key []byte
	d   value.Doc
}

func (s *sorting) Next() (value.Doc, bool, error) {
	if !s.ready {
		s.ready = true
		size := 0
		for {
			d, ok, err := s.in.Next()
			if err != nil {
				return nil, false, err
			}
			if !ok {
				break
			}
			if size += len(d); size > memory {
				return nil, false, tooMuch("$sort")
			}
			key, err := s.by.Key(d)
			if err != nil {
				return nil, false, err
			}
			s.list = append(s.list, sortItem{key, bytes.Clone(d)})
		}
		slices.SortStableFunc(s.list, func(a, b sortItem) int { return bytes.Compare(a.key, b.key) })
	}
	if len(s.list) == 0 {
		return nil, false, nil
	}
	d := s.list[0].d
	s.list = s.list[1:]
	return d, true, nil
}

// Docs is a stream of documents in memory.
type Docs []value.Doc

// Next implements Source.
func (l *Docs) Next() (value.Doc, bool, error) {
	if len(*l) == 0 {
		return nil, false, nil
	}
	d := (*l)[0]
	*l = (*l)[1:]
	return d, true, nil
}
