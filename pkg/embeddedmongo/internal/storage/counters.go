package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// counterMerger adds signed deltas, so writers change a counter without reading or locking it.
var counterMerger = &pebble.Merger{
	Name: "orch.counter.v1",
	Merge: func(_, v []byte) (pebble.ValueMerger, error) {
		n, err := readCounter(v)
		return &counterSum{n}, err
	},
}

type counterSum struct{ n int64 }

func (s *counterSum) MergeNewer(v []byte) error {
	n, err := readCounter(v)
	s.n += n
	return err
}

func (s *counterSum) MergeOlder(v []byte) error { return s.MergeNewer(v) }

func (s *counterSum) Finish(bool) ([]byte, io.Closer, error) {
	return binary.AppendVarint(nil, s.n), nil, nil
}

func readCounter(v []byte) (int64, error) {
	n, l := binary.Varint(v)
	if l <= 0 {
		return 0, fmt.Errorf("decode counter: %d bytes", len(v))
	}
	return n, nil
}

func (e *Engine) counter(key []byte) (int64, error) {
	v, closer, err := e.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	return readCounter(v)
}

func addCounter(b *pebble.Batch, key []byte, n int64) error {
	var buf [binary.MaxVarintLen64]byte
	return b.Merge(key, buf[:binary.PutVarint(buf[:], n)], nil)
}
