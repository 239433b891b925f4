package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// listFile is the list of a backup's files. Pebble ignores files with such names.
	listFile = "FILES.json"
	// tableSuffix is the end of the names of tables.
	tableSuffix = ".sst"
)

// fileList has the files of a backup by their names.
type fileList map[string]backedUp

// backedUp is a file of a backup.
type backedUp struct {
	// Size is in bytes.
	Size int64 `json:"size"`
	// Modified is the modification time in the store, in Unix nanoseconds. A store that was restored may give the same name to
	// another table.
	Modified int64  `json:"modified"`
	SHA256   string `json:"sha256"`
}

// IsBackup reports whether a directory has the list of a backup's files.
func IsBackup(fs vfs.FS, dir string) bool {
	_, err := fs.Stat(fs.PathJoin(dir, listFile))
	return err == nil
}

// readFileList reads the list of a backup.
func readFileList(fs vfs.FS, backup string) (fileList, error) {
	f, err := fs.Open(fs.PathJoin(backup, listFile))
	if err != nil {
		return nil, fmt.Errorf("read list of the files of backup %s: %w", backup, err)
	}
	defer f.Close()
	var list fileList
	if err := json.NewDecoder(f).Decode(&list); err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrDamaged, fs.PathJoin(backup, listFile), err)
	}
	return list, nil
}

func (l fileList) write(fs vfs.FS, dir string) error {
	text, err := json.MarshalIndent(l, "", "\t")
	if err != nil {
		return fmt.Errorf("encode list of files: %w", err)
	}
	return writeFile(fs, dir, listFile, string(text)+"\n")
}

// verify returns ErrDamaged, with the path, unless the file is as listed.
func (b backedUp) verify(fs vfs.FS, path string) error {
	sum, err := checksum(fs, path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s is missing", ErrDamaged, path)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return b.matches(sum, path)
}

func (b backedUp) matches(sum, path string) error {
	if sum != b.SHA256 {
		return fmt.Errorf("%w: %s has another checksum than the backup's list", ErrDamaged, path)
	}
	return nil
}

func checksum(fs vfs.FS, path string) (string, error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hexOf(sum), errors.Join(err, f.Close())
}

// copyFile copies a file, and returns its checksum.
func copyFile(fs vfs.FS, from, to string) (string, error) {
	src, err := fs.Open(from)
	if err != nil {
		return "", err
	}
	defer src.Close()
	dst, err := fs.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(dst, sum), src)
	return hexOf(sum), errors.Join(err, dst.Sync(), dst.Close())
}

func hexOf(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }
