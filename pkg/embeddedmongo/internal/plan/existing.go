package plan

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// existing are the ids of a filter that most documents match: all that an index of ids has, without those of a few documents. It has
// only the few in memory.
type existing struct {
	p    *Plan // One span, whose keys are in the order of the ids.
	outs []*valueSet
	view *storage.View
	it   *pebble.Iterator
	seek []byte
	n    int // The length of the prefix of seek.
}

func (e *existing) open() (err error) {
	e.view = e.p.c.View()
	span := e.p.spans[0]
	e.n = e.p.prefixBefore(e.p.position("_id"))
	e.seek = bytes.Clone(span.lo[:e.n])
	e.it, err = e.view.Iter(span.lo, span.hi)
	return err
}

func (e *existing) has(key []byte) (bool, error) {
	for _, out := range e.outs {
		if out.has(key) {
			return false, nil
		}
	}
	e.seek = append(e.seek[:e.n], key...)
	return e.it.SeekGE(e.seek) && bytes.HasPrefix(e.it.Key(), e.seek), storage.Error(e.it.Error())
}

func (e *existing) close() error {
	if e.view == nil {
		return nil
	}
	return e.view.Close()
}
