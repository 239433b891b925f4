package embeddedmongo

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options configure a server. The zero value is what production uses.
type Options struct {
	// FS is the file system of the data directory; nil is the disk. Tests give one that forgets what was not synced.
	FS vfs.FS
	// NoSync acknowledges writes before they are on disk. It exists so that the power-cut test can be seen to fail.
	NoSync bool
	// Logger gets warnings and errors; nil discards them.
	Logger *slog.Logger
	// CacheBytes is what blocks may take in memory under load; 0 is 8 MiB. Without writes they may take what memtables leave.
	CacheBytes int64
	// Clock tells the time for TTL indexes, $currentDate, $$NOW and idle cursors; nil is the machine's.
	Clock func() time.Time
	// SweepInterval is how often expired documents are removed and abandoned cursors ended; 0 is 10 s, negative is never.
	SweepInterval time.Duration
}

const defaultSweepInterval = 10 * time.Second
