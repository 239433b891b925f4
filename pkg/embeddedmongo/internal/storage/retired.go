package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// retiredIndex is an index of trigrams, which earlier versions built. Its keys have texts for directions.
type retiredIndex struct {
	c  *Collection
	id uint16
}

func isRetired(s IndexSpec) bool {
	for it := value.Doc(s.Key).Iter(); ; {
		_, v, ok := it.Next()
		if !ok {
			return false
		}
		if v.T == bson.TypeString {
			return true
		}
	}
}

// dropRetired removes in one batch what earlier versions stored and this one does not maintain: indexes of trigrams, and counters of the
// documents below prefixes of index keys, of which the records of the catalog tell.
func (e *Engine) dropRetired(list []retiredIndex) error {
	counted, err := e.hasKeys(tagRetired)
	if err != nil || len(list) == 0 && !counted {
		return err
	}
	b := e.db.NewBatch()
	defer b.Close()
	err = b.DeleteRange([]byte{tagRetired}, []byte{tagRetired + 1}, nil)
	for _, ix := range list {
		lo := taggedIndex(tagIndex, ix.c.ID, ix.id)
		err = errors.Join(err, b.DeleteRange(lo, Successor(lo), nil))
	}
	for _, c := range e.colls {
		err = errors.Join(err, c.putRecord(b, c.nextIx, c.Indexes()))
	}
	if err == nil {
		err = e.applySynced(b)
	}
	if err != nil {
		return fmt.Errorf("remove retired indexes: %w", err)
	}
	return nil
}

// hasKeys reports whether the store has a key with a tag.
func (e *Engine) hasKeys(tag byte) (bool, error) {
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: []byte{tag}, UpperBound: []byte{tag + 1}})
	if err != nil {
		return false, storageError(err)
	}
	found := it.First()
	return found, storageError(errors.Join(it.Error(), it.Close()))
}
