package embeddedmongo

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options configure a server. The zero value is the production configuration.
type Options struct {
	// FS is the file system of the data directory; nil is the disk. Tests use one that discards unsynced data.
	FS vfs.FS
	// NoSync acknowledges writes before they are on disk. It exists so that the power-cut test can be seen to fail.
	NoSync bool
	// Logger gets warnings and errors; nil discards them.
	Logger *slog.Logger
	// CacheBytes bounds the block cache under write load, in bytes; 0 is 8 MiB. Without writes the cache may also use the
	// memory of the memtables.
	CacheBytes int64
	// Clock is the time source of TTL indexes, $currentDate, $$NOW and idle cursors; nil is the system clock.
	Clock func() time.Time
	// SweepInterval is how often expired documents are removed and abandoned cursors ended; 0 is 10 s, negative is never.
	SweepInterval time.Duration
	// TestCommands enables the command configureFailPoint, with which clients make commands fail.
	TestCommands bool
}

const defaultSweepInterval = 10 * time.Second
