package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Errors of Open.
var (
	ErrInUse  = errors.New("data directory in use")
	ErrFormat = errors.New("unknown data directory format")
)

const (
	formatFile = "ORCH-STORE"
	formatLine = "orch embedded store, format 1\n"
	pidFile    = "HOLDER"
)

// acquire checks the directory's format and locks it. It does not touch a directory of another format.
func acquire(dir string, o Options) (*pebble.Lock, error) {
	fs := o.FS
	fresh, err := checkFormat(fs, dir)
	if err != nil {
		return nil, err
	}
	if fresh {
		if o.ReadOnly {
			return nil, fmt.Errorf("open %s: not a data directory: %w", dir, os.ErrNotExist)
		}
		if err := fs.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create data directory %s: %w", dir, err)
		}
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: locked by process %s", ErrInUse, dir, holder(fs, dir))
	}
	if o.ReadOnly {
		return lock, nil
	}
	if err := writePID(fs, dir); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if fresh {
		if err := writeFile(fs, dir, formatFile, formatLine); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
	}
	return lock, nil
}

// checkFormat reports whether the directory is new; an existing one must carry this format's line.
func checkFormat(fs vfs.FS, dir string) (fresh bool, err error) {
	got, err := readFile(fs, fs.PathJoin(dir, formatFile))
	if err == nil {
		if got != formatLine {
			return false, fmt.Errorf("%w: %s: has %q, want %q", ErrFormat, dir, strings.TrimSpace(got), strings.TrimSpace(formatLine))
		}
		return false, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("read format of %s: %w", dir, err)
	}
	names, err := fs.List(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("list %s: %w", dir, err)
	}
	for _, n := range names {
		// A crash can leave the lock file without the format file.
		if n != "LOCK" && n != pidFile {
			return false, fmt.Errorf("%w: %s: contains %s but no %s", ErrFormat, dir, n, formatFile)
		}
	}
	return true, nil
}

func holder(fs vfs.FS, dir string) string {
	s, err := readFile(fs, fs.PathJoin(dir, pidFile))
	if err != nil || strings.TrimSpace(s) == "" {
		return "of unknown id"
	}
	return strings.TrimSpace(s)
}

func readFile(fs vfs.FS, path string) (string, error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	return string(b), errors.Join(err, f.Close())
}

// writePID records the process that holds the lock. It is not synced, because the lock does not survive a crash either.
func writePID(fs vfs.FS, dir string) error {
	f, err := fs.Create(fs.PathJoin(dir, pidFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("create %s in %s: %w", pidFile, dir, err)
	}
	_, err = f.Write([]byte(strconv.Itoa(os.Getpid()) + "\n"))
	return errors.Join(err, f.Close())
}

// writeFile writes a small file and makes it and its name durable.
func writeFile(fs vfs.FS, dir, name, text string) error {
	f, err := fs.Create(fs.PathJoin(dir, name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("create %s in %s: %w", name, dir, err)
	}
	_, err = f.Write([]byte(text))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		var d vfs.File
		if d, err = fs.OpenDir(dir); err == nil {
			err = errors.Join(d.Sync(), d.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("write %s in %s: %w", name, dir, err)
	}
	return nil
}
