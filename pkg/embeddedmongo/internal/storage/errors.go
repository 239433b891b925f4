package storage

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// storageError turns Pebble's report of corrupt data into the server's; other errors pass.
func storageError(err error) error {
	if err != nil && pebble.IsCorruptionError(err) {
		return mongoerr.New(mongoerr.DataCorruptionDetected, "the data directory is corrupt: %v", err)
	}
	return err
}

func duplicateKey(c *Collection, ix *Index, d value.Doc) error {
	e := mongoerr.New(mongoerr.DuplicateKeyKind, "E11000 duplicate key error collection: %s.%s index: %s dup key: ", c.DB, c.Name, ix.Spec.Name)
	b := value.NewBuilder()
	for _, f := range ix.Fields {
		v := d.Path(f.Parts())
		if v.IsMissing() {
			v = value.Null
		}
		b.Add(f.Path, v)
	}
	e.KeyPattern, e.KeyValue = value.Doc(ix.Spec.Key), b.Done()
	e.Message += value.Format(value.OfDoc(e.KeyValue))
	return e
}

// Error turns Pebble's errors of reading into the server's.
func Error(err error) error { return storageError(err) }
