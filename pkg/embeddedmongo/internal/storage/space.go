package storage

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
)

// reserve is the free space in bytes below which writes are rejected. It suffices for the log, a flush, the catalog and two compactions
// of the lowest levels. So the engine never meets a full disk, which would stop it.
const reserve = 64 * memTableSize

// spaceGuard rejects writes while the disk is nearly full. It queries the file system every spaceInterval, or after spaceBytes of
// writes.
type spaceGuard struct {
	fs      vfs.FS
	dir     string
	began   time.Time    // It has the monotonic clock, which does not step back.
	last    atomic.Int64 // Time of the last query, in nanoseconds since then.
	written atomic.Int64 // Bytes since.
	full    atomic.Bool
}

const (
	spaceInterval = 250 * time.Millisecond
	spaceBytes    = 1 << 20
)

func (g *spaceGuard) init(fs vfs.FS, dir string) {
	g.fs, g.dir, g.began = fs, dir, time.Now()
	g.last.Store(-2 * int64(spaceInterval)) // The first write queries.
}

// check accounts for n bytes about to be written and fails with OutOfDiskSpace when the disk is nearly full.
func (g *spaceGuard) check(n int) error {
	w := g.written.Add(int64(n))
	now := int64(time.Since(g.began))
	if last := g.last.Load(); (w > spaceBytes || now-last > int64(spaceInterval)) && g.last.CompareAndSwap(last, now) {
		g.written.Store(0)
		// A file system without usage figures, such as one in memory, counts as not full.
		u, err := g.fs.GetDiskUsage(g.dir)
		g.full.Store(err == nil && u.AvailBytes < reserve)
	}
	if g.full.Load() {
		return mongoerr.New(mongoerr.OutOfDiskSpace, "write to %s: less than %d MB free on disk", g.dir, reserve>>20)
	}
	return nil
}
