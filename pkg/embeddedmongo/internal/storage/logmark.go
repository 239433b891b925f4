package storage

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	walrecord "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// The end of a log does not tell a write that a crash interrupted from one that was synced and is damaged. So each sync of the log
// is followed by a note of its length in another file:
//
//	write to the log ──► sync ──► mark: log 12 has 81,920 bytes ──► acknowledged
//
// The mark is not synced: an older one only claims less. At the next start the log must be readable up to the mark.

// ErrLogDamaged reports a log that cannot be read as far as it was synced. The writes behind that point were acknowledged.
var ErrLogDamaged = errors.New("log of the store is damaged")

const (
	markFile  = "LOG-SYNCED"
	markBytes = 20 // Number and length of the log, and their checksum.
	logSuffix = ".log"
	// logTail bounds the bytes of a log behind its last record: the padding of a block and the mark of the log's end. Each record of
	// documents is longer.
	logTail = 64
)

// markedLogs is a file system that notes the length of the log after each sync, and the first error of a log.
type markedLogs struct {
	vfs.FS
	mark    vfs.File
	failure *failState
}

// markLogs opens the mark of a directory for writing. The caller closes it.
func markLogs(fs vfs.FS, dir string, failure *failState) (*markedLogs, error) {
	f, err := fs.OpenReadWrite(fs.PathJoin(dir, markFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, fmt.Errorf("open mark of the log in %s: %w", dir, err)
	}
	return &markedLogs{FS: fs, mark: f, failure: failure}, nil
}

// Close ends the marking. A nil receiver has no mark.
func (m *markedLogs) Close() error {
	if m == nil {
		return nil
	}
	return m.mark.Close()
}

// Create implements vfs.FS.
func (m *markedLogs) Create(path string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := m.FS.Create(path, category)
	return m.log(path, f, err)
}

// ReuseForWrite implements vfs.FS.
func (m *markedLogs) ReuseForWrite(old, path string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := m.FS.ReuseForWrite(old, path, category)
	return m.log(path, f, err)
}

// Unwrap implements vfs.FS.
func (m *markedLogs) Unwrap() vfs.FS { return m.FS }

// log returns a new file: a marked one if it is a log.
func (m *markedLogs) log(path string, f vfs.File, err error) (vfs.File, error) {
	number, notLog := strconv.ParseUint(strings.TrimSuffix(m.PathBase(path), logSuffix), 10, 64)
	if notLog != nil || !strings.HasSuffix(path, logSuffix) {
		return f, err
	}
	if err != nil {
		m.failure.block(fmt.Errorf("create log: %w", err)) // Pebble panics if it has no new log.
		return nil, err
	}
	return &markedLog{File: f, marks: m, number: number}, nil
}

// markedLog is a log that is being written.
type markedLog struct {
	vfs.File
	marks  *markedLogs
	number uint64

	mu      sync.Mutex
	written uint64
	marked  uint64
	err     error // The first one.
}

// unlessFailed calls do, unless the log has failed: Pebble writes on behind a hole, which a mark would claim to be synced. It notes the
// first error, which Pebble reports to those who wait for the sync.
func (l *markedLog) unlessFailed(do func() error) error {
	l.mu.Lock()
	err := l.err
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if err = do(); err != nil {
		l.mu.Lock()
		l.err = cmp.Or(l.err, err)
		l.mu.Unlock()
		_ = l.marks.failure.fail(fmt.Errorf("write log: %w", err))
	}
	return err
}

// Close implements vfs.File. Pebble panics if the log that it replaces has failed.
func (l *markedLog) Close() error {
	err := l.File.Close()
	l.mu.Lock()
	err = cmp.Or(l.err, err)
	l.mu.Unlock()
	if err != nil {
		l.marks.failure.block(fmt.Errorf("close log: %w", err))
	}
	return err
}

// Write implements vfs.File.
func (l *markedLog) Write(b []byte) (n int, err error) {
	err = l.unlessFailed(func() error {
		n, err = l.File.Write(b)
		l.mu.Lock()
		l.written += uint64(n)
		l.mu.Unlock()
		return err
	})
	return n, err
}

// Sync implements vfs.File.
func (l *markedLog) Sync() error {
	return l.unlessFailed(func() error { return l.synced(l.File.Sync) })
}

// SyncData implements vfs.File.
func (l *markedLog) SyncData() error {
	return l.unlessFailed(func() error { return l.synced(l.File.SyncData) })
}

// synced calls sync and notes what it covers.
func (l *markedLog) synced(sync func() error) error {
	l.mu.Lock()
	written := l.written
	l.mu.Unlock()
	if err := sync(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if written <= l.marked {
		return nil
	}
	l.marked = written
	b := binary.BigEndian.AppendUint64(nil, l.number)
	b = binary.BigEndian.AppendUint64(b, written)
	if _, err := l.marks.mark.WriteAt(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), 0); err != nil {
		return fmt.Errorf("mark the end of the log: %w", err)
	}
	return nil
}

// checkMark returns ErrLogDamaged if the marked log cannot be read up to the mark. A directory without a mark, or without that log, has
// nothing to compare: earlier versions wrote none, and a log whose writes are in tables is removed.
func checkMark(fs vfs.FS, dir string) error {
	b, err := readFile(fs, fs.PathJoin(dir, markFile))
	if errors.Is(err, os.ErrNotExist) || err == nil && len(b) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read mark of the log in %s: %w", dir, err)
	}
	if len(b) != markBytes || binary.BigEndian.Uint32([]byte(b[16:])) != crc32.ChecksumIEEE([]byte(b[:16])) {
		return fmt.Errorf("%w: %s in %s has a wrong checksum", ErrLogDamaged, markFile, dir)
	}
	number, marked := binary.BigEndian.Uint64([]byte(b)), int64(binary.BigEndian.Uint64([]byte(b[8:])))
	logs, err := wal.Scan(wal.Dir{FS: fs, Dirname: dir})
	if err != nil {
		return fmt.Errorf("list logs: %w", err)
	}
	for _, log := range logs {
		if uint64(log.Num) != number {
			continue
		}
		end, err := endOfRecords(log)
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if end+logTail < marked {
			return fmt.Errorf("%w: %06d%s can be read up to byte %d, and %d bytes were synced: later writes are lost",
				ErrLogDamaged, number, logSuffix, end, marked)
		}
	}
	return nil
}

// endOfRecords is the offset behind the last record of a log that can be read.
func endOfRecords(log wal.LogicalLog) (end int64, err error) {
	r := log.OpenForRead()
	defer r.Close()
	for {
		rec, at, err := r.NextRecord()
		if err == nil {
			_, err = io.Copy(io.Discard, rec)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), pebble.IsCorruptionError(err),
			errors.Is(err, walrecord.ErrInvalidChunk), errors.Is(err, walrecord.ErrZeroedChunk), errors.Is(err, walrecord.ErrUnexpectedEOF):
			return at.Physical, nil
		case err != nil:
			return 0, err
		}
	}
}
