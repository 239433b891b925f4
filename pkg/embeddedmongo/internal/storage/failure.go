package storage

import (
	"sync"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
)

// failState stops the engine after an error of the write-ahead log. Memory then contains writes that the disk may lack, and
// reads would return them, so no command may succeed until the directory is opened again.
type failState struct {
	once   sync.Once
	failed chan struct{}
	cause  error // Readable once failed is closed.
}

func newFailState() failState { return failState{failed: make(chan struct{})} }

func (f *failState) fail(err error) {
	f.once.Do(func() {
		f.cause = err
		close(f.failed)
	})
}

// Failed is closed after the write-ahead log failed. The owner then closes the engine and opens it again, or ends.
func (f *failState) Failed() <-chan struct{} { return f.failed }

// Failure is the error of every command after the write-ahead log failed, and nil before.
func (f *failState) Failure() error {
	select {
	case <-f.failed:
		return mongoerr.New(mongoerr.ShutdownInProgress, "store stopped because its log failed: %v", f.cause)
	default:
		return nil
	}
}
