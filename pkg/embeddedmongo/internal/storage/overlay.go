package storage

import (
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// overlay is a file system for reading a directory some of whose files have another content, or are absent. Nothing is written to
// the directory itself.
type overlay struct {
	vfs.FS
	contents vfs.FS // The other contents, by base name.
	replaced map[string]bool
	removed  map[string]bool
}

func newOverlay(fs vfs.FS) *overlay {
	return &overlay{FS: fs, contents: vfs.NewMem(), replaced: map[string]bool{}, removed: map[string]bool{}}
}

// replace gives a file another content.
func (o *overlay) replace(name string, content []byte) error {
	o.replaced[name] = true
	f, err := o.contents.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Close()
}

// Open implements vfs.FS.
func (o *overlay) Open(path string, opts ...vfs.OpenOption) (vfs.File, error) {
	switch name := o.PathBase(path); {
	case o.removed[name]:
		return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
	case o.replaced[name]:
		return o.contents.Open(name, opts...)
	}
	return o.FS.Open(path, opts...)
}

// Stat implements vfs.FS.
func (o *overlay) Stat(path string) (vfs.FileInfo, error) {
	switch name := o.PathBase(path); {
	case o.removed[name]:
		return nil, &os.PathError{Op: "stat", Path: path, Err: os.ErrNotExist}
	case o.replaced[name]:
		return o.contents.Stat(name)
	}
	return o.FS.Stat(path)
}

// List implements vfs.FS.
func (o *overlay) List(dir string) ([]string, error) {
	names, err := o.FS.List(dir)
	if err != nil {
		return nil, err
	}
	for name := range o.replaced {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return o.removed[name] }), nil
}
