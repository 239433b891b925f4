package embeddednats

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/highwayhash"
)

// ErrDamaged reports files of streams that are not as they were written. JetStream itself would drop a damaged message, and the
// messages behind it in its file, and go on.
var ErrDamaged = errors.New("streams are damaged")

// The files of JetStream below its directory:
//
//	jetstream/ACCOUNT/streams/STREAM/meta.inf, meta.sum          configuration and its checksum
//	                                 msgs/N.blk                  messages, each with a checksum
//	                                 msgs/index.db               a summary, with a checksum; JetStream makes it again
//	                                 obs/CONSUMER/meta.inf, meta.sum
//	                                              o.dat          the consumer's position
//	REACHED.json                                                 the last sequence of each stream, of the guard

// Damage is a damaged file of a stream.
type Damage struct {
	Stream string
	// File is its path below the directory.
	File string
	// Text says what is lost.
	Text string
}

func (d Damage) String() string { return fmt.Sprintf("stream %s: %s: %s", d.Stream, d.File, d.Text) }

// Verify reads all streams of a directory that no server uses, and lists the damaged files.
func Verify(ctx context.Context, dir string) ([]Damage, error) { return scan(ctx, dir, "") }

// Repair copies the streams of a directory that no server uses into a new one, without what is damaged, and lists that. A consumer of a
// damaged stream starts at its first message again.
func Repair(ctx context.Context, dir, to string) ([]Damage, error) {
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("repair streams in %s: %w", to, os.ErrExist)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, fmt.Errorf("repair streams: %w", err)
	}
	return scan(ctx, dir, to)
}

// scan verifies each stream, and copies it into another directory unless that is empty.
func scan(ctx context.Context, dir, to string) (damage []Damage, err error) {
	streams, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*"))
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	reached, err := readReached(dir)
	if err != nil {
		return nil, err
	}
	for _, path := range streams {
		if err := ctx.Err(); err != nil {
			return damage, err
		}
		s := &scanned{root: dir, dir: path, name: filepath.Base(path), to: to, reached: reached}
		if err := s.scan(); err != nil {
			return damage, fmt.Errorf("verify stream %s: %w", s.name, err)
		}
		damage = append(damage, s.damage...)
	}
	return damage, nil
}

// scanned is a stream that is verified.
type scanned struct {
	root, dir, name, to string
	reached             reached
	damage              []Damage
	// intact are the blocks of messages without what is damaged, by path, if they differ from their files.
	intact map[string][]byte
	lost   bool // The stream cannot be recovered as a whole.
}

func (s *scanned) report(path, format string, args ...any) {
	relative, err := filepath.Rel(s.root, path)
	if err != nil {
		relative = path
	}
	s.damage = append(s.damage, Damage{Stream: s.name, File: relative, Text: fmt.Sprintf(format, args...)})
}

func (s *scanned) scan() error {
	s.intact = map[string][]byte{}
	whole, err := s.meta(s.dir, s.name)
	if err != nil {
		return err
	}
	blocks, err := filepath.Glob(filepath.Join(s.dir, "msgs", "*.blk"))
	if err != nil {
		return err
	}
	slices.SortFunc(blocks, func(a, b string) int { return blockNumber(a) - blockNumber(b) })
	if s.lost = !whole; s.lost {
		s.report(filepath.Join(s.dir, "meta.inf"), "the configuration has a wrong checksum: the stream and its %d files of messages are lost", len(blocks))
	}
	last := uint64(0)
	for i, path := range blocks {
		sequence, err := s.block(path, i == len(blocks)-1)
		if err != nil {
			return err
		}
		last = max(last, sequence)
	}
	noted, err := s.noted()
	if err != nil {
		return err
	}
	if noted > last && len(blocks) > 0 {
		s.report(blocks[len(blocks)-1], "messages %d to %d are missing at its end", last+1, noted)
	}
	consumers, err := filepath.Glob(filepath.Join(s.dir, "obs", "*"))
	if err != nil {
		return err
	}
	for _, path := range consumers {
		whole, err := s.meta(path, s.name+"/"+filepath.Base(path))
		if err != nil {
			return err
		}
		if !whole {
			s.report(filepath.Join(path, "meta.inf"), "the configuration of consumer %s has a wrong checksum: its position is lost", filepath.Base(path))
		}
	}
	if s.to == "" {
		return nil
	}
	return s.copy()
}

// meta verifies the configuration in a directory. It is whole if it has its checksum, and if there is none yet.
func (s *scanned) meta(dir, key string) (whole bool, err error) {
	content, err := os.ReadFile(filepath.Join(dir, "meta.inf"))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // A crash interrupted its creation.
	}
	if err != nil {
		return false, err
	}
	sum, err := os.ReadFile(filepath.Join(dir, "meta.sum"))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return string(sum) == hex.EncodeToString(hash(key, content)), nil
}

// hash is JetStream's checksum of what belongs to a key.
func hash(key string, parts ...[]byte) []byte {
	secret := sha256.Sum256([]byte(key))
	h, err := highwayhash.NewDigest64(secret[:])
	if err != nil {
		panic(err) // The key has the right length.
	}
	for _, part := range parts {
		_, _ = h.Write(part) // It never fails.
	}
	return h.Sum(nil)
}

func blockNumber(path string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".blk"))
	if err != nil {
		return -1
	}
	return n
}

// A record of a block: its length, sequence, time and length of the subject; subject, headers and message; checksum.
const (
	headerBytes   = 22
	checksumBytes = 8
	hasHeaders    = 1 << 31 // A bit of the length.
	erased        = 1 << 63 // Bits of the sequence.
	tombstone     = 1 << 62
	maxRecord     = 32 << 20
)

// block verifies the messages of a file, and returns the last sequence in it. A crash may leave part of a record at the end of the last
// file.
func (s *scanned) block(path string, newest bool) (last uint64, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	key := fmt.Sprintf("%s-%d", s.name, blockNumber(path))
	intact := make([]byte, 0, len(content))
	for rest := content; len(rest) > 0; {
		record, sequence := nextRecord(key, rest)
		if record != nil {
			intact = append(intact, record...)
			last = max(last, sequence)
			rest = rest[len(record):]
			continue
		}
		skipped := 1
		for ; skipped < len(rest); skipped++ {
			if record, _ := nextRecord(key, rest[skipped:]); record != nil {
				break
			}
		}
		at := len(content) - len(rest)
		if skipped < len(rest) || !newest || !isTorn(rest) {
			s.report(path, "bytes %d to %d are damaged: the messages behind number %d there are lost", at, at+skipped, last)
		}
		rest = rest[skipped:]
	}
	if len(intact) != len(content) {
		s.intact[path] = intact
	}
	return last, nil
}

// isTorn reports whether bytes at the end of a file may be part of a record that was being written.
func isTorn(rest []byte) bool {
	if len(rest) < headerBytes {
		return true
	}
	length := int(binary.LittleEndian.Uint32(rest) &^ hasHeaders)
	return length > len(rest) && length <= maxRecord || bytes.Count(rest, []byte{0}) == len(rest)
}

// nextRecord returns the record at the beginning of bytes, nil if it is none or damaged.
func nextRecord(key string, b []byte) (record []byte, sequence uint64) {
	if len(b) < headerBytes+checksumBytes {
		return nil, 0
	}
	length := binary.LittleEndian.Uint32(b)
	headers := length&hasHeaders != 0
	length &^= hasHeaders
	subject := int(binary.LittleEndian.Uint16(b[20:]))
	body := int(length) - headerBytes - checksumBytes
	from := subject
	if headers {
		from += 4 // Their length is not in the checksum.
	}
	if length > maxRecord || int(length) > len(b) || body < from {
		return nil, 0
	}
	data := b[headerBytes : headerBytes+body]
	if !bytes.Equal(hash(key, b[4:20], data[:subject], data[from:]), b[headerBytes+body:length]) {
		return nil, 0
	}
	return b[:length], binary.LittleEndian.Uint64(b[4:]) &^ (erased | tombstone)
}

// noted returns the last sequence that the stream is known to have reached, 0 if none is known.
func (s *scanned) noted() (uint64, error) {
	content, err := os.ReadFile(filepath.Join(s.dir, "meta.inf"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var meta struct {
		Created time.Time `json:"created"`
	}
	if s.lost || json.Unmarshal(content, &meta) != nil {
		return 0, nil //nolint:nilerr // The configuration is reported.
	}
	if r := s.reached[s.name]; r.Created.Equal(meta.Created) { // Otherwise it was another stream of this name.
		return r.Sequence, nil
	}
	return 0, nil
}

// copy writes the stream without what is damaged.
func (s *scanned) copy() error {
	if s.lost {
		return nil
	}
	//nolint:gosec // The directory is the operator's own, and no server runs on it.
	return filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(s.root, path)
		if err != nil {
			return err
		}
		target := filepath.Join(s.to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if name := entry.Name(); len(s.damage) > 0 && (name == "index.db" || name == "o.dat") {
			return nil
		}
		content, changed := s.intact[path]
		if !changed {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		return os.WriteFile(target, content, 0o600)
	})
}
