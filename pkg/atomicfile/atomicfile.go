// Package atomicfile writes small files atomically and durably. It writes and syncs a temporary file beside the path,
// renames or links it to the path, and syncs the directory.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace sets the contents of a file, which only its owner can read.
func Replace(path string, text []byte) error {
	return write(path, text, os.Rename)
}

// Create creates a file that only its owner can read. An existing file stays unchanged and returns [fs.ErrExist]; of
// several concurrent creators one succeeds.
func Create(path string, text []byte) error {
	return write(path, text, os.Link) // Unlike a rename, a link never replaces a file.
}

func write(path string, text []byte, move func(from, to string) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		// After a rename the temporary file no longer exists.
		if removal := os.Remove(f.Name()); !errors.Is(removal, fs.ErrNotExist) {
			err = errors.Join(err, removal)
		}
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	if _, err := f.Write(text); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := move(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
