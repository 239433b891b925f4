package plan

import (
	"errors"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// errEnough ends a count at its limit.
var errEnough = errors.New("enough")

// countRelated counts the matches of a filter with relations by index keys where they decide it, and by documents elsewhere. how names
// the method.
func countRelated(c *storage.Reader, q Query, con *conjunction) (n int64, how string, p *Plan, err error) {
	g := newGatherer(c, q, "_id")
	g.prefer = "_id"
	if rel, negated := onlyRelation(con); rel != nil {
		g.prefer = rel.Path
		h, err := newHashCount(c, q, con, rel)
		if err != nil {
			return 0, "", nil, err
		}
		if h != nil {
			n, err = h.run(negated)
			return n, "COUNT_RELATED", h.near.base, err
		}
	}
	if err = g.prepare(); err != nil {
		return 0, "", nil, err
	}
	var seen *valueSet
	if g.base != nil && g.base.dedupe {
		seen = newValueSet()
	}
	err = g.run(func(id []byte) error {
		if seen == nil {
			n++
		} else {
			seen.add(id)
			n = int64(seen.len())
		}
		if q.most > 0 && n >= q.most {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if g.base == nil {
		return n, "FETCH", scan(c, q, con), err
	}
	return n, "COUNT_RELATED", g.base, err
}

// onlyRelation is the relation of a conjunction that has one, which may be negated; nil for others.
func onlyRelation(con *conjunction) (only *filter.Related, negated bool) {
	if len(relationsOf(con.nodes)) != 1 {
		return nil, false
	}
	for _, n := range con.nodes {
		not, isNot := n.(filter.Not)
		if isNot {
			n = not.Node
		}
		if rel, ok := n.(*filter.Related); ok {
			return rel, isNot
		}
	}
	return nil, false
}

// hashCount counts by the values of the near side, with the number of documents of each in memory. The values of the far side pass by,
// and are not stored. It suits a near side that is smaller than the far one:
//
//	near side  ws, flow_run_id ──▶ run 1: 3   run 2: 1   run 7: 2
//	far side   ws, state.type, _id ──▶ run 2 ──▶ 1   run 5   run 7 ──▶ 1 + 2
type hashCount struct {
	join      *semiJoin
	near, far *gatherer // far expects as many values as near has keys.
}

// startedOver is the cost of gathering that a hash count may repeat.
const startedOver = 16 * eagerCost

// newHashCount plans the count; nil when another way costs less.
func newHashCount(c *storage.Reader, q Query, con *conjunction, rel *filter.Related) (*hashCount, error) {
	s := joinOf(rel)
	if s.decided() || s.gathered > startedOver || q.most > 0 {
		return nil, nil
	}
	own := con.of(filter.And{})
	for _, n := range con.nodes {
		if len(relationsOf(filter.And{n})) == 0 {
			own.add(filter.And{n})
		}
	}
	h := &hashCount{join: s, near: newGatherer(c, q, rel.Path), far: newGatherer(s.c, s.q, rel.Foreign)}
	h.near.con, h.near.prefer, h.near.every = own, rel.Path, true
	var p *Plan
	if rel.Path == "_id" {
		return nil, nil // The near side is walked once in either case, and its ids need no counts.
	}
	if p = h.near.widest(h.near.deciding(own, rel.Path)); p == nil || p.dedupe {
		return nil, nil
	}
	near, err := h.near.size(p, c.Count())
	if err != nil || near*s.probeCost() < s.c.Count()*(1+memberCost) || near > int64(s.most) {
		return nil, err // Probes cost less, or the memory is not enough.
	}
	h.far.expected = near
	if err := s.reduce(h.far); err != nil {
		return nil, err
	}
	if err := h.far.prepare(); err != nil {
		return nil, err
	}
	if h.far.existing != nil {
		s.existing = h.far.existing
		return nil, s.existing.open()
	}
	if h.far.estimate > near*s.probeCost() {
		return nil, nil
	}
	if h.far.base != nil {
		far, err := h.far.size(h.far.base, near)
		if err != nil || far < near {
			return nil, err
		}
	}
	return h, h.near.read(p)
}

func (h *hashCount) run(negated bool) (n int64, err error) {
	values := newValueSetOf(h.far.expected)
	values.counts = make([]uint32, len(values.table))
	all := int64(0)
	if err := h.near.run(func(key []byte) error {
		all++
		if !h.join.reduction.unknown(key) {
			values.count(key)
			return nil
		}
		has, err := h.join.Has(key) // What far lists does not tell about it.
		if has {
			n++
		}
		return err
	}); err != nil {
		return 0, err
	}
	err = h.far.run(func(key []byte) error {
		n += values.take(key)
		return nil
	})
	if negated {
		n = all - n
	}
	return n, err
}
