package storage

import (
	"bytes"
	"context"
)

// Compact rewrites all data without what was deleted.
func (e *Engine) Compact(ctx context.Context) error {
	if err := e.Failure(); err != nil {
		return err
	}
	return storageError(e.db.Compact(ctx, []byte{0}, bytes.Repeat([]byte{0xff}, 32), false))
}
