package plan

import (
	"bytes"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

const (
	// mostReferences is the number of values of the near side that are looked up before there is a plan.
	mostReferences = 64
	// mostSingle is the number of values with few documents each after which the near side is taken to have many values.
	mostSingle = 8
)

// references is the condition that the near side has one of its values that have a related document, if it has few values at all; nil
// for others. Often all documents lack the reference, and nothing matches. It holds for the documents of before: a document with a value
// that appears meanwhile does not match, so the negation of the condition would be wrong.
func (s *semiJoin) references(near *storage.Reader, q Query, con *conjunction) (*filter.Leaf, error) {
	if s.decided() || s.c.Count() <= mostPoints || s.rel.Foreign != "_id" || s.rel.Path == "_id" {
		return nil, nil
	}
	p := grouping(near, q, con, s.rel.Path)
	if p == nil || len(p.spans) != 1 {
		return nil, nil
	}
	fields, err := p.fewValues(s.rel.Path)
	if fields == nil || err != nil {
		return nil, err
	}
	values := make([]value.Value, 0, len(fields))
	for _, field := range fields {
		has, err := s.Has(field)
		if err != nil {
			return nil, err
		}
		if !has {
			continue
		}
		v, _, ok := value.ReadKey(field, false, nil)
		if !ok || v.T != bson.TypeBinary && v.T != bson.TypeString {
			return nil, nil
		}
		values = append(values, v)
	}
	return filter.InValues(s.rel.Path, values), nil
}

// fewValues lists the values of a path in the keys of the plan's only span, encoded in ascending order, by a skip scan; nil when they are
// many, or few documents share one.
func (p *Plan) fewValues(path string) (fields [][]byte, err error) {
	v := p.c.View()
	defer v.Close()
	span, at := p.spans[0], p.position(path)
	it, err := v.Iter(span.lo, span.hi)
	if err != nil {
		return nil, err
	}
	fields = [][]byte{}
	var prefix []byte
	single := 0
	for ok := it.First(); ok; {
		begin, end := p.fieldAt(it.Key(), at)
		prefix = append(prefix[:0], it.Key()[:end]...)
		fields = append(fields, bytes.Clone(ascending(prefix[begin:], p.ix.Fields[at].Desc)))
		same := true
		for i := 0; i < nearKeys && ok && same; i++ {
			ok = it.Next()
			same = ok && bytes.HasPrefix(it.Key(), prefix)
		}
		if same {
			ok = it.SeekGE(successor(prefix))
		} else {
			single++
		}
		if len(fields) > mostReferences || single > mostSingle {
			return nil, nil
		}
	}
	return fields, storage.Error(it.Error())
}
