package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone/internal/control"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// ErrNotABackup reports a data directory where a backup is expected.
var ErrNotABackup = errors.New("this is a data directory and not a backup: its streams may hold events that its store lacks, and orch backup copies both")

// BackupOptions are what a backup has.
type BackupOptions struct {
	// Base is an earlier backup on the same file system with which the new one shares unchanged files, or empty. Each backup is complete:
	// the earlier one may be deleted.
	Base string
	// WithoutKeys leaves out the keys that encrypt the secrets in the store: who has the backup alone reads no secret.
	WithoutKeys bool
}

// Backup copies a data directory, of `orch server` or `orch infra`, into a new directory. The copy is consistent: it contains
// every write that was acknowledged before the call. A running process makes the copy online.
//
// The copy has no streams. Backup waits until acknowledged events are stored, and the webhook definitions are
// republished at the next start. Without a running server, Backup starts one temporarily without its addresses.
func Backup(ctx context.Context, dataDir, backup string, opts BackupOptions, log *slog.Logger) error {
	r := control.BackupRequest{Base: opts.Base, WithoutKeys: opts.WithoutKeys}
	var err error
	if r.Dir, err = filepath.Abs(backup); err != nil {
		return fmt.Errorf("back %s up: %w", dataDir, err)
	}
	if r.Base != "" {
		if r.Base, err = filepath.Abs(r.Base); err != nil {
			return fmt.Errorf("back %s up: %w", dataDir, err)
		}
	}
	if err := control.Backup(ctx, dataDir, r); !errors.Is(err, control.ErrNoServer) {
		return err
	}
	dir, err := existing(ctx, dataDir, log)
	if err != nil {
		return err
	}
	return offline(ctx, dir, log, func(ctx context.Context, parts *infra, conn *broker.Conn, _ *orchestration.Orchestration) error {
		return onlineBackup(dir, parts, conn)(ctx, r)
	})
}

// HasKeys reports whether a backup or a data directory has the keys that encrypt its secrets.
func HasKeys(dir string) (bool, error) {
	found, err := datadir.Existing(dir)
	return found.HasSecrets(), err
}

// copyStore writes a backup: the directory's mark and its store. It removes an incomplete directory.
func copyStore(ctx context.Context, dir datadir.Dir, store *embeddedmongo.Server, r control.BackupRequest) (err error) {
	target, err := datadir.New(r.Dir)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(r.Dir))
		}
	}()
	base := ""
	if r.Base != "" {
		earlier, err := datadir.Existing(r.Base)
		if err != nil {
			return err
		}
		base = earlier.Store()
	}
	if err := store.BackupSince(ctx, target.Store(), base); err != nil {
		return err
	}
	if !r.WithoutKeys {
		if err := dir.CopySecrets(target); err != nil {
			return err
		}
	}
	// The mark comes last: a directory without it is not a backup.
	return target.Mark(dir.Vocabulary)
}

// onlineBackup serves a backup request on a running server.
func onlineBackup(dir datadir.Dir, parts *infra, conn *broker.Conn) func(ctx context.Context, r control.BackupRequest) error {
	return func(ctx context.Context, r control.BackupRequest) error {
		if err := waitHandled(ctx, parts.store, conn); err != nil {
			return err
		}
		return copyStore(ctx, dir, parts.store, r)
	}
}

// drainTimeout bounds how long a backup waits until orchestration has stored pending events.
const drainTimeout = time.Minute

// writableInterval is how often a waiting backup asks whether the store takes writes.
const writableInterval = 250 * time.Millisecond

// errPending reports events that orchestration did not store in time.
var errPending = errors.New("events are still pending: start orchestration, or stop the server and repeat the backup")

// waitHandled waits until the events that were acknowledged before the call are in the store. It fails as soon as the store refuses
// writes, because pending events cannot be stored then.
func waitHandled(ctx context.Context, store *embeddedmongo.Server, conn *broker.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, drainTimeout, errPending)
	defer cancel()
	ctx, refuse := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer refuse(nil)
	watching.Go(func() {
		t := time.NewTicker(writableInterval)
		defer t.Stop()
		for ctx.Err() == nil {
			select {
			case <-t.C:
				if err := store.Writable(); err != nil {
					refuse(err)
				}
			case <-ctx.Done():
			}
		}
	})
	for _, durable := range []string{broker.DurablePersist, broker.DurableAutomations} {
		if err := conn.WaitHandled(ctx, durable); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return fmt.Errorf("wait for events that are not handled yet: %w", err)
		}
	}
	return nil
}

// Restore creates a data directory from a backup. The target must not exist or be empty.
func Restore(ctx context.Context, backup, dataDir string) (err error) {
	from, err := datadir.Existing(backup)
	if errors.Is(err, datadir.ErrUnmarked) || err == nil && from.HasStreams() {
		return fmt.Errorf("restore %s: %w", backup, ErrNotABackup)
	}
	if err != nil {
		return err
	}
	to, err := datadir.New(dataDir)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := embeddedmongo.Restore(ctx, from.Store(), to.Store()); err != nil {
		return err
	}
	if err := from.CopySecrets(to); err != nil {
		return err
	}
	return to.Mark(from.Vocabulary)
}
