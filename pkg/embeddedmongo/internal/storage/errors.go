package storage

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// storageError maps Pebble's corruption errors to DataCorruptionDetected; it returns other errors unchanged.
func storageError(err error) error {
	if err != nil && pebble.IsCorruptionError(err) {
		return mongoerr.New(mongoerr.DataCorruptionDetected, "data directory is corrupt: %v", err)
	}
	return err
}

// duplicateKey is the error of a document whose key, given as encoded fields, exists in a unique index.
func duplicateKey(c *Collection, ix *Index, d value.Doc, key []byte) error {
	e := mongoerr.New(mongoerr.DuplicateKeyKind, "E11000 duplicate key error collection: %s.%s index: %s dup key: ", c.DB, c.Name, ix.Spec.Name)
	b := value.NewBuilder()
	values := index.KeyValues(d, ix.Fields, key)
	for i, f := range ix.Fields {
		v := value.Null
		if i < len(values) && !values[i].IsNullish() {
			v = values[i]
		}
		b.Add(f.Path, v)
	}
	e.KeyPattern, e.KeyValue = value.Doc(ix.Spec.Key), b.Done()
	e.Message += value.Format(value.OfDoc(e.KeyValue))
	return e
}

// Error maps Pebble's read errors to the server's.
func Error(err error) error { return storageError(err) }
