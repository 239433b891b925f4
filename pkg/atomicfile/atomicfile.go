// Package atomicfile writes small files so that each is there whole or not at all, after a power cut too: written beside
// the path, synced, put in place in one step, and the directory synced.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace makes the file hold text, whatever it held before. The file is its owner's alone.
func Replace(path string, text []byte) error {
	return write(path, text, os.Rename)
}

// Create makes a file that holds text. A file that is there already stays as it is and is [fs.ErrExist]: of several
// processes that create one at once, one wins. The file is its owner's alone.
func Create(path string, text []byte) error {
	return write(path, text, os.Link) // Linking, unlike renaming, never replaces.
}

func write(path string, text []byte, place func(from, to string) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		// After a rename it is gone.
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
	if err := place(f.Name(), path); err != nil {
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
