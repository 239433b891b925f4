package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Backup writes a consistent copy of the store into a new directory, online. It links immutable files where the file system can.
// It writes the format file last, so Open rejects an incomplete copy.
func (e *Engine) Backup(ctx context.Context, dir string) error {
	if err := errors.Join(ctx.Err(), e.Failure()); err != nil {
		return err
	}
	if err := mustBeNew(e.opts.FS, dir); err != nil {
		return err
	}
	if err := e.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("back up to %s: %w", dir, err)
	}
	if err := e.Failure(); err != nil {
		return err // The copy may hold writes that the log lacks.
	}
	return writeFile(e.opts.FS, dir, formatFile, formatLine)
}

func mustBeNew(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err == nil && len(names) == 0 {
		err = fs.RemoveAll(dir) // Pebble wants to create it.
	} else if err == nil {
		err = fmt.Errorf("%s not empty: %w", dir, os.ErrExist)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Restore copies a backup into a new data directory. The backup is left as it is and may be used again.
func Restore(ctx context.Context, fs vfs.FS, backup, dir string) error {
	fresh, err := checkFormat(fs, backup)
	if err != nil {
		return err
	}
	if fresh {
		return fmt.Errorf("read backup %s: %w", backup, os.ErrNotExist)
	}
	if err := mustBeNew(fs, dir); err != nil {
		return err
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	names, err := fs.List(backup)
	if err != nil {
		return fmt.Errorf("list %s: %w", backup, err)
	}
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n == "LOCK" || n == pidFile || n == formatFile {
			continue
		}
		if err := copyFile(fs, fs.PathJoin(backup, n), fs.PathJoin(dir, n)); err != nil {
			return fmt.Errorf("copy %s: %w", n, err)
		}
	}
	return writeFile(fs, dir, formatFile, formatLine)
}

func copyFile(fs vfs.FS, from, to string) error {
	src, err := fs.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := fs.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}
