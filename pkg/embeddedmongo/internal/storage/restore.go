package storage

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Restore copies a backup into a new data directory, and verifies the checksums of its list. It leaves out files that are not in the list.
// Backups of earlier versions have none. The backup is left as it is and may be used again.
func Restore(ctx context.Context, fs vfs.FS, backup, dir string) error {
	fresh, err := checkFormat(fs, backup)
	if err != nil {
		return err
	}
	if fresh {
		return fmt.Errorf("read backup %s: %w", backup, os.ErrNotExist)
	}
	list, err := readFileList(fs, backup)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
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
	for name := range list {
		if !exists(fs, fs.PathJoin(backup, name)) {
			return fmt.Errorf("%w: %s is missing", ErrDamaged, fs.PathJoin(backup, name))
		}
	}
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		file, known := list[n]
		if n == "LOCK" || n == pidFile || n == formatFile || n == listFile || list != nil && !known {
			continue
		}
		from := fs.PathJoin(backup, n)
		sum, err := copyFile(fs, from, fs.PathJoin(dir, n))
		if err != nil {
			return fmt.Errorf("copy %s: %w", n, err)
		}
		if !known {
			continue
		}
		if err := file.matches(sum, from); err != nil {
			return err
		}
	}
	return writeFile(fs, dir, formatFile, formatLine)
}

func exists(fs vfs.FS, path string) bool {
	_, err := fs.Stat(path)
	return err == nil
}
