package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// A store with damaged files is read without what they lack:
//
//	table missing or cut off ──► zeros in its length: its blocks have wrong checksums
//	log damaged ───────────────► the log up to the damage, and no later log
//	block with a wrong checksum ► a gap between keys, which readable skips
//
// So everything that is read was written, and is the newest version up to the damage of the log.

// openAttempts bounds how often openDamaged replaces files and opens the store again. One attempt names all tables that are missing, the
// next one their sizes, and each log needs one.
const openAttempts = 8

// openDamaged opens a store for reading, although files may be damaged, and describes the damage that kept it from being opened. It is an
// error if the rest does not tell which collections there are.
func openDamaged(fs vfs.FS, dir string) (e *Engine, damage []string, err error) {
	files := newOverlay(fs)
	if err := checkMark(fs, dir); errors.Is(err, ErrLogDamaged) {
		damage = append(damage, err.Error())
	}
	for range openAttempts {
		if e, err = Open(dir, Options{FS: files, ReadOnly: true, damaged: true}); err == nil {
			return e, damage, nil
		}
		found, repairErr := files.repair(dir, err)
		if repairErr != nil || len(found) == 0 {
			return nil, damage, errors.Join(err, repairErr)
		}
		damage = append(damage, found...)
	}
	return nil, damage, err
}

var (
	wrongSize  = regexp.MustCompile(`(\d{6}): object size mismatch \([^)]*\): (\d+) \(disk\) != (\d+) \(MANIFEST\)`)
	absent     = regexp.MustCompile(`L\d: (\d{6}): .*(?:not exist|unknown to the objstorage provider)`)
	damagedLog = regexp.MustCompile(`replaying wal (\d+)`)
)

// repair replaces the files that an error of Open blames, and describes what was wrong with them.
func (o *overlay) repair(dir string, cause error) (damage []string, err error) {
	text := fmt.Sprintf("%+v", cause) // With the details.
	seen := map[string]bool{}
	for _, m := range wrongSize.FindAllStringSubmatch(text, -1) {
		name := m[1] + tableSuffix
		if seen[name] {
			continue
		}
		seen[name] = true
		size, err := strconv.Atoi(m[3])
		if err != nil {
			return nil, err
		}
		content := make([]byte, size)
		if !o.replaced[name] { // Otherwise the file is missing, which was described.
			have, err := o.content(o.PathJoin(dir, name))
			if err != nil {
				return nil, err
			}
			copy(content, have)
			damage = append(damage, fmt.Sprintf("%s has %s bytes instead of %s", name, m[2], m[3]))
		} else {
			damage = append(damage, name+" is read as zeros")
		}
		if err := o.replace(name, content); err != nil {
			return nil, err
		}
	}
	for _, m := range absent.FindAllStringSubmatch(text, -1) {
		name := m[1] + tableSuffix
		if seen[name] {
			continue
		}
		seen[name] = true
		damage = append(damage, name+" is missing")
		if err := o.replace(name, nil); err != nil {
			return nil, err
		}
	}
	if m := damagedLog.FindStringSubmatch(text); len(damage) == 0 && m != nil && pebble.IsCorruptionError(cause) {
		number, err := strconv.ParseUint(m[1], 10, 64)
		if err != nil {
			return nil, err
		}
		return o.cutLogs(dir, wal.NumWAL(number))
	}
	return damage, nil
}

func (o *overlay) content(path string) ([]byte, error) {
	f, err := o.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(f)
	return content, errors.Join(err, f.Close())
}

// cutLogs ends a log before its damage, and removes the later ones: their writes may depend on those that are lost.
func (o *overlay) cutLogs(dir string, damaged wal.NumWAL) (damage []string, err error) {
	logs, err := wal.Scan(wal.Dir{FS: o, Dirname: dir})
	if err != nil {
		return nil, fmt.Errorf("list logs: %w", err)
	}
	for _, log := range logs {
		if log.Num < damaged {
			continue
		}
		_, path := log.SegmentLocation(0)
		name := o.PathBase(path)
		content, err := o.content(path)
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		if log.Num > damaged {
			damage = append(damage, fmt.Sprintf("%s, %d bytes of writes, follows a damaged log", name, len(content)))
			o.removed[name] = true
			continue
		}
		end, err := endOfRecords(log)
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		damage = append(damage, fmt.Sprintf("%s is damaged from byte %d of %d on: the writes behind it are lost", name, end, len(content)))
		if err := o.replace(name, content[:end]); err != nil {
			return nil, err
		}
	}
	return damage, nil
}

// describe returns the text of an error without the details that Pebble adds in further lines.
func describe(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// gap is a range of keys that cannot be read: from is in it, to is behind it.
type gap struct {
	from, to []byte
	cause    error
}

func (g gap) has(key []byte) bool {
	return bytes.Compare(g.from, key) <= 0 && bytes.Compare(key, g.to) < 0
}

// readable calls do with each entry from lower to upper that can be read, in order, and returns the gaps between them.
func (e *Engine) readable(ctx context.Context, lower, upper []byte, do func(key, value []byte) error) (gaps []gap, err error) {
	for from := lower; bytes.Compare(from, upper) < 0; {
		next, cause, err := e.readSome(ctx, from, upper, do)
		if err != nil || cause == nil {
			return gaps, err
		}
		g := gap{from: next, to: e.endOfGap(next, upper), cause: cause}
		gaps = append(gaps, g)
		from = g.to
	}
	return gaps, nil
}

// readSome is readable up to the first entry that cannot be read, for the cause. Next is a key before it and behind the last one.
func (e *Engine) readSome(ctx context.Context, from, upper []byte, do func(key, value []byte) error) (next []byte, cause, err error) {
	next = from
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: upper})
	if err != nil {
		return next, err, nil
	}
	read := 0
	for ok := it.First(); ok; ok = it.Next() {
		if read++; read&1023 == 0 && ctx.Err() != nil {
			return next, nil, errors.Join(ctx.Err(), it.Close())
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return next, errors.Join(err, it.Close()), nil
		}
		if err := do(it.Key(), v); err != nil {
			return next, nil, errors.Join(err, it.Close())
		}
		next = append(append(next[:0:0], it.Key()...), 0)
	}
	return next, it.Close(), nil // Close returns the iterator's error.
}

// endOfGap finds, by bisection, a key behind from at which reading goes on.
func (e *Engine) endOfGap(from, upper []byte) []byte {
	const precision = 8 // Bytes behind the length of the keys.
	width := max(len(from), len(upper)) + precision
	number := func(key []byte) *big.Int {
		return new(big.Int).SetBytes(append(bytes.Clone(key), make([]byte, width-len(key))...))
	}
	low, high := number(from), number(upper)
	end := upper
	for range width * 8 {
		middle := new(big.Int).Rsh(new(big.Int).Add(low, high), 1)
		if middle.Cmp(low) == 0 {
			break
		}
		key := middle.FillBytes(make([]byte, width))
		if e.readsAt(key, upper) {
			high, end = middle, key
		} else {
			low = middle
		}
	}
	return end
}

// readsAt reports whether the first entry from a key on can be read.
func (e *Engine) readsAt(key, upper []byte) bool {
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: key, UpperBound: upper})
	if err != nil {
		return false
	}
	if it.First() {
		_, err = it.ValueAndErr()
	}
	return errors.Join(err, it.Close()) == nil
}
