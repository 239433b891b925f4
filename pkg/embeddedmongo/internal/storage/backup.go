package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble writes a table once, and never changes it. So a backup shares the tables that it has in common with an earlier one:
//
//	store ──checkpoint (links)──► snapshot ──┬── table that the base has ──► checksum, unless it is a link ──► link
//	                                         └── other files ─────────────► link or copy
//
// Each backup is complete: earlier ones may be deleted. Its list of files has their checksums, for restores and for the next
// backup.

// snapshotDir is the directory of the checkpoint that a backup is made of, below the data directory.
const snapshotDir = "BACKUP-IN-PROGRESS"

// ErrDamaged reports a backup whose files are not those of its list.
var ErrDamaged = errors.New("backup is damaged")

// Backup writes a consistent copy of the store into a new directory, online. Tables that the backup base has are linked to its
// files, which must be on the same file system; empty means no base. The format file comes last, so Open rejects an
// incomplete copy.
func (e *Engine) Backup(ctx context.Context, dir, base string) (err error) {
	if err := errors.Join(ctx.Err(), e.Failure()); err != nil {
		return err
	}
	fs := e.opts.FS
	var earlier fileList
	if base != "" {
		if earlier, err = readFileList(fs, base); err != nil {
			return err
		}
	}
	if err := mustBeNew(fs, dir); err != nil {
		return err
	}
	e.backups.Lock()
	defer e.backups.Unlock()
	snapshot := fs.PathJoin(e.dir, snapshotDir)
	if err := fs.RemoveAll(snapshot); err != nil { // A crash may have left it.
		return fmt.Errorf("remove old snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, fs.RemoveAll(snapshot)) }()
	if err := e.db.Checkpoint(snapshot, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("take snapshot: %w", err)
	}
	if err := e.Failure(); err != nil {
		return err // The copy may hold writes that the log lacks.
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	list, err := linkOrCopy(ctx, fs, sharing{from: snapshot, base: base, to: dir, earlier: earlier})
	if err != nil {
		return err
	}
	if err := list.write(fs, dir); err != nil {
		return err
	}
	return writeFile(fs, dir, formatFile, formatLine)
}

// sharing is a backup in progress.
type sharing struct {
	from, base, to string
	earlier        fileList
}

// linkOrCopy links or copies all files of a snapshot, and returns their list.
func linkOrCopy(ctx context.Context, fs vfs.FS, s sharing) (fileList, error) {
	names, err := fs.List(s.from)
	if err != nil {
		return nil, fmt.Errorf("list snapshot: %w", err)
	}
	list := fileList{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		from, to := fs.PathJoin(s.from, name), fs.PathJoin(s.to, name)
		info, err := fs.Stat(from)
		if err != nil {
			return nil, fmt.Errorf("read %s of the store: %w", name, err)
		}
		file := backedUp{Size: info.Size(), Modified: info.ModTime().UnixNano()}
		if known, ok := s.earlier[name]; ok && strings.HasSuffix(name, tableSuffix) && known.Size == file.Size && known.Modified == file.Modified {
			if !sameFile(from, fs.PathJoin(s.base, name)) {
				if err := known.verify(fs, fs.PathJoin(s.base, name)); err != nil {
					return nil, err
				}
			}
			if err := fs.Link(fs.PathJoin(s.base, name), to); err != nil {
				return nil, fmt.Errorf("link %s of the base, which must be on the file system of the backup: %w", name, err)
			}
			list[name] = known
			continue
		}
		linked := strings.HasSuffix(name, tableSuffix) && fs.Link(from, to) == nil
		if linked {
			file.SHA256, err = checksum(fs, from)
		} else {
			file.SHA256, err = copyFile(fs, from, to)
		}
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", name, err)
		}
		list[name] = file
	}
	return list, nil
}

// sameFile reports whether two paths of the disk are links to one file. Then the base has what the store has, and the backup need not
// read it. It is false for files that are not on the disk.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

func mustBeNew(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err == nil && len(names) > 0 {
		return fmt.Errorf("%s not empty: %w", dir, os.ErrExist)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
