package storage

import (
	"fmt"
	"runtime/debug"
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

// fail records the first error of the log, and returns Failure.
func (f *failState) fail(err error) error {
	f.once.Do(func() {
		f.cause = err
		close(f.failed)
	})
	return f.Failure()
}

// Recover turns a panic of the deferring function into its error. Pebble panics when the log fails under a write; the error is
// then Failure, of which the owner learns through Failed.
func (f *failState) Recover(err *error) {
	p := recover()
	if p == nil {
		return
	}
	if *err = f.Failure(); *err == nil {
		*err = fmt.Errorf("store panicked: %v\n%s", p, debug.Stack())
	}
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
