package embeddedmongo

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
)

// Report is the result of a check.
type Report struct {
	// Damage describes files that are not as they were written.
	Damage      []string
	Collections []CollectionReport
}

// CollectionReport is what a check found in one collection. Problems is empty when documents, indexes and counters agree.
type CollectionReport = storage.CollectionReport

// OK reports whether no problem was found.
func (r *Report) OK() bool {
	if len(r.Damage) > 0 {
		return false
	}
	for _, c := range r.Collections {
		if len(c.Problems) > 0 {
			return false
		}
	}
	return true
}

// Backup writes a consistent copy of the data directory into a new directory, online. Open accepts such a copy; Restore copies it
// into a new data directory.
func (s *Server) Backup(ctx context.Context, dir string) error { return s.BackupSince(ctx, dir, "") }

// BackupSince is Backup that shares unchanged files with an earlier backup, on the same file system. It verifies those files first. Each
// backup is complete: the earlier one may be deleted.
func (s *Server) BackupSince(ctx context.Context, dir, base string) (err error) {
	defer s.engine.Recover(&err)
	if err := s.engine.Backup(ctx, dir, base); err != nil {
		return fmt.Errorf("back up to %s: %w", dir, err)
	}
	return nil
}

// Restore makes a data directory of a backup. The directory must not exist or be empty; nothing is overwritten.
func Restore(ctx context.Context, backup, dir string) error {
	if err := storage.Restore(ctx, vfs.Default, backup, dir); err != nil {
		return fmt.Errorf("restore %s into %s: %w", backup, dir, err)
	}
	return nil
}

// IsBackup reports whether a directory has the list of files that Backup writes. A server that opened the directory would change files
// of the list, and Restore refuses it then.
func IsBackup(dir string) bool { return storage.IsBackup(vfs.Default, dir) }

// Compact rewrites the store without what was deleted, and returns the space to the file system. Clients may work meanwhile, more
// slowly. The store reclaims space by itself after large deletions.
func (s *Server) Compact(ctx context.Context) (err error) {
	defer s.engine.Recover(&err)
	if err := s.engine.Compact(ctx); err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	return nil
}

// Check verifies that documents, indexes and counters of the open server agree.
func (s *Server) Check(ctx context.Context) (*Report, error) {
	list, err := s.engine.Check(ctx)
	return &Report{Collections: list}, err
}

// Check verifies a data directory that no process has open, without writing to it. Files that are damaged or missing, and what they
// make unreadable, are in the report. It is an error if the rest does not tell which collections there are.
func Check(ctx context.Context, dir string) (*Report, error) {
	list, damage, err := storage.CheckDamaged(ctx, vfs.Default, dir)
	if err != nil {
		err = fmt.Errorf("check %s: %w", dir, err)
	}
	return &Report{Damage: damage, Collections: list}, err
}

// Rebuilt is what Rebuild has made of a damaged data directory.
type Rebuilt = storage.Rebuilt

// Rebuild creates a data directory with everything that can be read in a damaged one, which no process has open. Documents that cannot be
// read are taken from a backup; empty means none. The result names them, and those that are lost. The damaged directory and the
// backup stay as they are.
func Rebuild(ctx context.Context, dir, backup, to string) (Rebuilt, error) {
	rebuilt, err := storage.Rebuild(ctx, vfs.Default, dir, backup, to)
	if err != nil {
		err = fmt.Errorf("rebuild %s in %s: %w", dir, to, err)
	}
	return rebuilt, err
}
