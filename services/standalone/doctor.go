package standalone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// DirectoryReport is what a check found in a data directory.
type DirectoryReport struct {
	Store *embeddedmongo.Report
	// Streams are the damaged files of the broker's streams.
	Streams []embeddednats.Damage
}

// OK reports whether no problem was found.
func (r *DirectoryReport) OK() bool { return r.Store.OK() && len(r.Streams) == 0 }

// Check verifies a data directory that no server uses, or a backup: documents, indexes and counters must agree, and the files of store and
// streams must be as they were written.
func Check(ctx context.Context, dataDir string) (*DirectoryReport, error) {
	dir, err := datadir.Existing(dataDir)
	if err != nil && !errors.Is(err, datadir.ErrUnmarked) {
		return nil, err
	}
	streams, err := embeddednats.Verify(ctx, dir.NATS())
	if err != nil {
		return nil, err
	}
	store, err := embeddedmongo.Check(ctx, dir.Store())
	if err != nil && store.Damage != nil {
		err = fmt.Errorf("%w (%v)", err, store.Damage)
	}
	return &DirectoryReport{Store: store, Streams: streams}, err
}

// RepairReport is what a repair has made of a damaged data directory.
type RepairReport struct {
	Store embeddedmongo.Rebuilt
	// Streams are the damaged files, whose messages are lost.
	Streams []embeddednats.Damage
}

// Repair creates a data directory of everything that can be read in a damaged one, which no server uses. Unreadable parts of the store are taken from a backup; empty means none. The damaged directory and the backup stay as they are.
func Repair(ctx context.Context, dataDir, backup, to string) (r *RepairReport, err error) {
	from, err := datadir.Existing(dataDir)
	if err != nil && !errors.Is(err, datadir.ErrUnmarked) {
		return nil, err
	}
	var earlier datadir.Dir
	backupStore := ""
	if backup != "" {
		if earlier, err = datadir.Existing(backup); err != nil {
			return nil, err
		}
		backupStore = earlier.Store()
	}
	target, err := datadir.New(to)
	if err != nil {
		return nil, fmt.Errorf("repair %s: %w", dataDir, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}()
	r = &RepairReport{}
	if r.Store, err = embeddedmongo.Rebuild(ctx, from.Store(), backupStore, target.Store()); err != nil {
		return nil, err
	}
	if r.Streams, err = embeddednats.Repair(ctx, from.NATS(), target.NATS()); err != nil {
		return nil, err
	}
	if err := repairSecrets(from, earlier, target); err != nil {
		return nil, err
	}
	if !from.Vocabulary.Decided() {
		return r, nil // The first server claims the directory.
	}
	return r, target.Mark(from.Vocabulary)
}

// repairSecrets copies the keys of secrets from the damaged directory, or from the backup if they cannot be read there.
func repairSecrets(from, backup, target datadir.Dir) error {
	_, err := secrets.ReadFile(from.SecretsFile())
	if err == nil || backup.Path == "" && errors.Is(err, fs.ErrNotExist) {
		return from.CopySecrets(target)
	}
	if backup.Path == "" {
		return err
	}
	return backup.CopySecrets(target)
}
