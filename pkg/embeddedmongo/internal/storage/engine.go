// Package storage stores collections of BSON documents and their indexes in Pebble.
//
//	Insert, Modify ─▶ document lock ─▶ unique-key locks ─▶ one batch: document, index entries, counters
//	InsertMany        the locks of some documents ────────▶ one batch of them
//	                                                          │ applied and visible
//	                  locks released ◀────────────────────────┘
//	Commit.Wait    ─▶ the write-ahead log is synced; many commits share one sync
package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options configure an engine. The zero value is a durable store on disk.
type Options struct {
	FS         vfs.FS
	NoSync     bool
	Logger     *slog.Logger
	CacheBytes int64
	Clock      func() time.Time
	ReadOnly   bool

	damaged bool // The end of the log is not compared with its mark.
}

// Engine is an open data directory.
type Engine struct {
	db     *pebble.DB
	dir    string
	opts   Options
	lock   *pebble.Lock
	marks  *markedLogs // nil when it is only read.
	space  spaceGuard
	unique stripes
	docs   stripes
	// deleted decides when to reclaim space.
	deleted deletions

	mu    sync.RWMutex
	colls map[string]*Collection // By "db.coll".

	backups sync.Mutex // Held during a backup.

	stalls     atomic.Int64 // Moments at which writes began to wait for compactions.
	resetTwice atomic.Int64 // Entries that compactions found set twice below one SingleDelete.
	building   atomic.Int64 // Index builds in progress.
	indexed    atomic.Int64 // Documents that index builds have read.
	keys       atomic.Int64 // Keys that commands wrote or deleted.

	tasks sync.WaitGroup // Background work, which ends at Close.

	syncState
	failState
}

// memTableSize, in bytes, is small to bound the server's memory and the replay of the log after a crash.
const memTableSize = 4 << 20

// memTableStop is the number of memtables at which writes wait for flushes.
const memTableStop = 5

// l0CompactionThreshold is twice the number of flushed memtables in level 0 that begin a compaction. Each such table costs an
// iterator about a microsecond. Each compaction rewrites the ends of all indexes, so under load the processor time of
// compactions falls with their number.
const l0CompactionThreshold = 20

// l0Stop is the number of such tables at which writes wait for compactions. On a slow disk a compaction takes
// long, and a busy server adds three tables a second. A wait beyond the time limit of operations fails the requests of all clients;
// slower reads fail none.
const l0Stop = 128

// noTombstoneCompactions disables the compactions of tables that are mostly deletions. A change of a document deletes as many index
// entries as it adds, and retention only deletes: each flush then rewrote the level below. Reclaim returns space instead.
const noTombstoneCompactions = -1

// bottomLevels is the number of lowest levels, which have almost all data. Their blocks are larger, and compressed by zstd: half the
// disk, for more processor time of compactions and of reads that the cache does not serve.
const bottomLevels = 2

// bottomBlockSize is the size of their blocks, in bytes, before compression.
const bottomBlockSize = 16 << 10

// defaultCacheBytes is small too, because the kernel's page cache holds most other blocks.
const defaultCacheBytes = 8 << 20

// formatVersion is Pebble's on-disk format, fixed so that an upgrade of the library does not silently change directories.
const formatVersion = pebble.FormatWALSyncChunks

// Open opens or creates a data directory. It fails with ErrInUse when another process holds the directory, and with
// ErrFormat, before anything is written, when the directory is not of this format.
func Open(dir string, o Options) (*Engine, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	lock, err := acquire(dir, o)
	if err != nil {
		return nil, err
	}
	if !o.ReadOnly { // An interrupted backup would keep the space of deleted tables.
		if err := o.FS.RemoveAll(o.FS.PathJoin(dir, snapshotDir)); err != nil {
			return nil, errors.Join(fmt.Errorf("remove snapshot of an interrupted backup: %w", err), lock.Close())
		}
	}
	if !o.damaged {
		if err := checkMark(o.FS, dir); err != nil {
			return nil, errors.Join(fmt.Errorf("open store in %s: %w", dir, err), lock.Close())
		}
	}
	e := &Engine{dir: dir, opts: o, lock: lock, colls: map[string]*Collection{}, failState: newFailState(o.Logger)}
	e.unique.init(1024)
	e.docs.init(16 << 10) // One insert may hold many.
	e.space.init(o.FS, dir)
	// Pebble charges memtables to its cache and would keep no blocks in a smaller one, so each lookup would read its bloom filters
	// again. Usually one memtable is being filled and another flushed.
	cache := pebble.NewCache(o.CacheBytes + 2*memTableSize)
	defer cache.Unref()
	files := o.FS
	if !o.ReadOnly {
		if e.marks, err = markLogs(o.FS, dir, &e.failState); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		files = e.marks
	}
	po := &pebble.Options{
		FS: files, Cache: cache, Lock: lock, ReadOnly: o.ReadOnly,
		FormatMajorVersion:          formatVersion,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: memTableStop,
		L0CompactionThreshold:       l0CompactionThreshold,
		L0StopWritesThreshold:       l0Stop,
		MaxOpenFiles:                512,
		Merger:                      counterMerger,
		Logger:                      pebbleLogger{o.Logger, &e.failState},
		EventListener:               e.listener(),
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
	}
	po.Experimental.TombstoneDenseCompactionThreshold = noTombstoneCompactions
	for i := range po.Levels {
		// An insert probes every level for an _id that no level has.
		po.Levels[i].FilterPolicy = documentFilter{bloom.FilterPolicy(filterBits)}
		if i >= len(po.Levels)-bottomLevels {
			po.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.ZstdCompression }
			po.Levels[i].BlockSize = bottomBlockSize
		}
	}
	if err = e.openPebble(po); err != nil {
		return nil, errors.Join(fmt.Errorf("open store in %s: %w", dir, err), e.marks.Close(), lock.Close())
	}
	if err := e.loadCatalog(); err != nil {
		return nil, errors.Join(err, e.db.Close(), e.marks.Close(), lock.Close())
	}
	e.running.Store(true)
	return e, nil
}

// openPebble opens the directory. Pebble panics if it cannot write, on a full disk for one.
func (e *Engine) openPebble(o *pebble.Options) (err error) {
	defer e.Recover(&err)
	e.db, err = pebble.Open(e.dir, o)
	return err
}

// Close closes the engine. No operation may be in progress. The log already holds everything; Close flushes a large memtable only
// to spare the next start its replay.
func (e *Engine) Close() error {
	e.closing.Store(true)
	e.tasks.Wait()
	if !e.opts.ReadOnly && e.Failure() == nil && e.db.Metrics().MemTable.Size > 1<<20 && e.space.check(0) == nil {
		if err := e.db.Flush(); err != nil {
			e.opts.Logger.Warn("failed to flush at close", "error", err)
		}
	}
	return errors.Join(e.db.Close(), e.marks.Close(), e.lock.Close())
}

// Writable is nil while writes succeed, and otherwise their error: the log failed, or the disk is nearly full.
func (e *Engine) Writable() error {
	if err := e.Failure(); err != nil {
		return err
	}
	return e.space.check(0)
}

// Now is the engine's time.
func (e *Engine) Now() time.Time { return e.opts.Clock() }

// DB gives access to Pebble for backups and benchmarks.
func (e *Engine) DB() *pebble.DB { return e.db }

// Stalls counts how often writes had to wait for flushes or compactions since the start.
func (e *Engine) Stalls() int64 { return e.stalls.Load() }

// WrittenKeys returns the number of keys of documents and index entries that commands wrote or deleted.
func (e *Engine) WrittenKeys() int64 { return e.keys.Load() }

// IndexBuilds returns the number of index builds in progress, and of documents that index builds have read since the start.
func (e *Engine) IndexBuilds() (inProgress, documents int64) {
	return e.building.Load(), e.indexed.Load()
}

// syncState tracks whether readers can see writes that are not synced yet.
type syncState struct {
	inflight atomic.Int64 // Batches applied whose sync is awaited.
	dirty    atomic.Int64 // Counts batches applied without a sync.
	clean    atomic.Int64 // Value of dirty that the last completed sync covers.
	// journaled counts the commits with {j: true} that have applied a batch and not returned from Wait.
	journaled atomic.Int64
}

func (s *syncState) pending() bool {
	return s.inflight.Load() > 0 || s.dirty.Load() > s.clean.Load()
}

func (s *syncState) synced(upTo int64) {
	for {
		c := s.clean.Load()
		if c >= upTo || s.clean.CompareAndSwap(c, upTo) {
			return
		}
	}
}

type pebbleLogger struct {
	log     *slog.Logger
	failure *failState
}

func (l pebbleLogger) Infof(f string, a ...any) {
	l.log.Debug("storage engine reported", "report", fmt.Sprintf(f, a...))
}

func (l pebbleLogger) Errorf(f string, a ...any) {
	l.log.Error("failed to complete an operation of the storage engine", "error", fmt.Sprintf(f, a...))
}

// Fatalf must not return: Pebble calls it where continuing could lose acknowledged writes.
func (l pebbleLogger) Fatalf(f string, a ...any) {
	err := fatal{text: fmt.Sprintf(f, a...)}
	for _, arg := range a {
		if cause, ok := arg.(error); ok {
			err.cause = cause
		}
	}
	l.failure.block(err)
	panic(err)
}

// fatal is an error that Pebble formatted.
type fatal struct {
	text  string
	cause error
}

func (f fatal) Error() string { return f.text }

func (f fatal) Unwrap() error { return f.cause }

func (e *Engine) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { e.opts.Logger.Error("failed to complete background work of the store", "error", err) },
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			e.opts.Logger.Error("failed to read data of the store: it is corrupt", "file", i.Path, "error", i.Details)
		},
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			e.stalls.Add(1)
			e.opts.Logger.Warn("store writes stall", "reason", i.Reason)
		},
		PossibleAPIMisuse: func(i pebble.PossibleAPIMisuseInfo) {
			if i.Kind == pebble.NondeterministicSingleDelete {
				e.resetTwice.Add(1)
				e.opts.Logger.Error("an index entry was set twice; check the store", "key", i.UserKey)
			}
		},
		WriteStallEnd: func() { e.opts.Logger.Info("store writes go on") },
	}
}
