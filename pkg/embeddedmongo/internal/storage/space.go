package storage

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
)

// reserve is the free space below which writes are refused. It is enough for the log, a flush and the catalog, so that the
// engine itself never meets a full disk, which it could not survive.
const reserve = 6 * memTableSize

// spaceGuard refuses writes while the disk is nearly full. It asks the file system every few hundred milliseconds, or sooner
// when much was written since.
type spaceGuard struct {
	fs      vfs.FS
	dir     string
	last    atomic.Int64 // Time of the last look, in nanoseconds.
	written atomic.Int64 // Bytes since.
	full    atomic.Bool
}

const (
	spaceInterval = 250 * time.Millisecond
	spaceBytes    = 1 << 20
)

func (g *spaceGuard) init(fs vfs.FS, dir string) { g.fs, g.dir = fs, dir }

// check accounts for n bytes about to be written and fails with OutOfDiskSpace when the disk is nearly full.
func (g *spaceGuard) check(n int) error {
	w := g.written.Add(int64(n))
	now := time.Now().UnixNano()
	if last := g.last.Load(); (w > spaceBytes || now-last > int64(spaceInterval)) && g.last.CompareAndSwap(last, now) {
		g.written.Store(0)
		// File systems that cannot tell, such as one in memory, are taken to have room.
		u, err := g.fs.GetDiskUsage(g.dir)
		g.full.Store(err == nil && u.AvailBytes < reserve)
	}
	if g.full.Load() {
		return mongoerr.New(mongoerr.OutOfDiskSpace, "less than %d MB are free on the disk of %s: writes are refused", reserve>>20, g.dir)
	}
	return nil
}
