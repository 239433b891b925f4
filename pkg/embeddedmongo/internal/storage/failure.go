package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
)

// failState stops the engine after an error of the write-ahead log or of the manifest. Memory then contains writes that the disk may
// lack, and reads would return them, so no command may succeed until the directory is opened again.
type failState struct {
	log    *slog.Logger
	once   sync.Once
	failed chan struct{}
	cause  error // Readable once failed is closed.

	// running is false while the engine opens: a failure is then the error of Open.
	running atomic.Bool
	closing atomic.Bool
}

func newFailState(log *slog.Logger) failState {
	return failState{log: log, failed: make(chan struct{})}
}

// fail records the first error, and returns Failure.
func (f *failState) fail(err error) error {
	f.once.Do(func() {
		f.cause = err
		close(f.failed)
		f.log.Error("failed to write the log or the manifest; the store stopped", "error", err, "remedy", remedy(err))
	})
	return f.Failure()
}

// remedy says what an operator does about a failed write.
func remedy(err error) string {
	if errors.Is(err, syscall.ENOSPC) {
		return "make room on the disk and start the process again"
	}
	return "check the disk and start the process again"
}

// block records an error, and never returns once the engine runs: Pebble would panic in a goroutine of its own, or while it holds locks,
// and end the process before its owner has said why. A failure while the engine opens or closes returns.
func (f *failState) block(err error) {
	blocks := f.running.Load() && !f.closing.Load() // The owner closes the engine as soon as it learns of the failure.
	_ = f.fail(err)
	if blocks {
		select {}
	}
}

// Recover turns a panic of the deferring function into its error. Pebble panics when it writes to a log that has failed; the error is
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
