// Package datadir manages the data directory of a single binary.
//
//	orch.json   the format's version and the vocabulary; written at the first start, and again when a client decides
//	store/      the embedded store
//	nats/       the streams of the embedded broker
//	secrets.key the keys that encrypt secrets, unless ORCH_SECRETS_KEY sets others; created at the first start
//	broker.url, store.uri
//	            the addresses of the broker and the store of `orch infra`, with their credentials
//
// Open refuses a directory of another version or vocabulary and leaves it unchanged.
package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/atomicfile"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// FormatVersion is the version of the directory's layout.
const FormatVersion = 1

// ErrFormat reports that a server of another version or vocabulary wrote the directory.
var ErrFormat = errors.New("the data directory does not fit this server")

// ErrUnmarked reports a data directory that only `orch infra` has used: it has a store and no mark.
var ErrUnmarked = errors.New("only orch infra has used the data directory")

// ErrBackup reports a backup where a data directory is expected.
var ErrBackup = errors.New("it is a backup, which a server would make unusable: orch restore creates a data directory from it")

// ErrForeign reports a directory that is not empty and not a data directory.
var ErrForeign = errors.New("the directory is not a data directory and not empty")

// socketName is the socket of package control. A process that was killed leaves it.
const socketName = "control.sock"

// markName is the file that identifies a data directory.
const markName = "orch.json"

type mark struct {
	Format     int    `json:"format"`
	Vocabulary string `json:"vocabulary"`
}

// Dir is an opened data directory.
type Dir struct {
	Path       string
	Vocabulary vocabulary.Vocabulary
}

// Default returns the default directory of the user: below XDG_DATA_HOME, or ~/.local/share.
func Default() (string, error) {
	if base := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "orch"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the user's data directory (name one with --data-dir): %w", err)
	}
	return filepath.Join(home, ".local", "share", "orch"), nil
}

// Open creates a directory, or opens one of this format and vocabulary. Only the user can read it. Undecided opens a
// directory of any vocabulary; without a mark, the store may contain one, so the caller marks the directory.
func Open(path string, vocab vocabulary.Vocabulary) (Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return Dir{}, fmt.Errorf("make the data directory: %w", err)
	}
	found, err := readMark(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := checkOwn(path); err != nil {
			return Dir{}, err
		}
		dir := Dir{Path: path, Vocabulary: vocab}
		if !vocab.Decided() {
			return dir, nil
		}
		return dir, dir.Mark(vocab)
	}
	if err != nil {
		return Dir{}, fmt.Errorf("read what %s is: %w", path, err)
	}
	dir, err := found.dir(path)
	if err == nil {
		err = dir.NoBackup()
	}
	switch {
	case err != nil:
		return Dir{}, err
	case !vocab.Decided() || dir.Vocabulary == vocab:
		return dir, nil
	case !dir.Vocabulary.Decided():
		dir.Vocabulary = vocab
		return dir, dir.Mark(vocab)
	}
	return Dir{}, fmt.Errorf("%w: %s was written in the vocabulary %q, this server is set to %q (start it with --vocabulary %s, or run %s)",
		ErrFormat, path, dir.Vocabulary, vocab, dir.Vocabulary, dir.Vocabulary.Remedy())
}

// dir returns the directory that a mark describes.
func (m mark) dir(path string) (Dir, error) {
	if m.Format != FormatVersion {
		return Dir{}, fmt.Errorf("%w: %s has format %d, this server speaks %d", ErrFormat, path, m.Format, FormatVersion)
	}
	vocab, err := vocabulary.ParseStored(m.Vocabulary)
	switch {
	case errors.Is(err, vocabulary.ErrConverting):
		return Dir{}, fmt.Errorf("%w: %s: %w", ErrFormat, path, err)
	case err != nil:
		return Dir{}, fmt.Errorf("read what %s is: %w", path, err)
	}
	return Dir{Path: path, Vocabulary: vocab}, nil
}

// OpenAny creates a directory or opens one of any vocabulary, for programs that store no vocabulary names. The first
// server that opens a new directory claims it.
func OpenAny(path string) (Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return Dir{}, fmt.Errorf("make the data directory: %w", err)
	}
	found, err := readMark(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := checkOwn(path); err != nil {
			return Dir{}, err
		}
		return Dir{Path: path}, nil
	}
	if err != nil {
		return Dir{}, fmt.Errorf("read what %s is: %w", path, err)
	}
	dir, err := found.dir(path)
	if err == nil {
		err = dir.NoBackup()
	}
	return Dir{Path: path}, err
}

// supervisionFiles are the extensions of files that those who start a server put beside its data.
var supervisionFiles = []string{".log", ".pid", ".out", ".err"}

// checkOwn returns ErrForeign for a directory without a mark that contains files of others. An interrupted first start
// and `orch infra` leave directories of their own without a mark; a file system of its own has lost+found.
func checkOwn(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("read the data directory: %w", err)
	}
	for _, entry := range entries {
		switch name := entry.Name(); {
		case name == filepath.Base(Dir{}.Store()), name == filepath.Base(Dir{}.NATS()), name == filepath.Base(Dir{}.SecretsFile()), name == socketName:
		case name == filepath.Base(Dir{}.BrokerURL()), name == filepath.Base(Dir{}.StoreURI()):
		case name == "lost+found", strings.HasPrefix(name, markName), slices.Contains(supervisionFiles, filepath.Ext(name)):
		default:
			return fmt.Errorf("%w: %s contains %s; choose an empty directory with --data-dir", ErrForeign, path, name)
		}
	}
	return nil
}

// Existing opens a directory that a server or a backup created, of any vocabulary. For a directory of `orch infra` it returns the
// directory without a vocabulary, and ErrUnmarked.
func Existing(path string) (Dir, error) {
	found, err := readMark(path)
	if errors.Is(err, fs.ErrNotExist) {
		dir := Dir{Path: path}
		if info, err := os.Stat(dir.Store()); err == nil && info.IsDir() {
			return dir, fmt.Errorf("read what %s is: %w", path, ErrUnmarked)
		}
	}
	if err != nil {
		return Dir{}, fmt.Errorf("%s is neither a data directory nor a backup: %w", path, err)
	}
	return found.dir(path)
}

// New creates a directory that must not exist or be empty. It has no vocabulary until it is marked.
func New(path string) (Dir, error) {
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
		return Dir{}, fmt.Errorf("make the data directory %s: it is not empty", path)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return Dir{}, fmt.Errorf("make the data directory: %w", err)
	}
	return Dir{Path: path}, nil
}

// Mark assigns a vocabulary to a new or undecided directory, atomically and durably.
func (d Dir) Mark(vocab vocabulary.Vocabulary) error {
	return writeMark(d.Path, mark{FormatVersion, vocab.String()})
}

// MarkConversion marks the directory as being converted: no server opens it until Mark assigns a vocabulary.
func (d Dir) MarkConversion(c vocabulary.Conversion) error {
	return writeMark(d.Path, mark{FormatVersion, c.String()})
}

// VocabularyMark returns the vocabulary in the mark of an existing directory, or the conversion that is not complete. For a
// directory of `orch infra` it returns ErrUnmarked.
func VocabularyMark(path string) (string, error) {
	dir, err := Existing(path)
	if errors.Is(err, vocabulary.ErrConverting) {
		found, err := readMark(path)
		return found.Vocabulary, err
	}
	return dir.Vocabulary.String(), err
}

// Secrets returns the encryption keys: the configured ones, then those of the directory's own file. The configured key
// encrypts new secrets; the directory's key still decrypts old ones. Without either, Secrets creates the file.
func (d Dir) Secrets(configured secrets.Keyring) (secrets.Keyring, error) {
	if configured.Empty() {
		return secrets.File(d.SecretsFile())
	}
	own, err := secrets.ReadFile(d.SecretsFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return secrets.Keyring{}, err
	}
	return configured.With(own), nil
}

// SecretsFile is the path of the directory's own keys.
func (d Dir) SecretsFile() string { return filepath.Join(d.Path, "secrets.key") }

// BrokerURL and StoreURI are the paths of the addresses that `orch infra` writes for the services.
func (d Dir) BrokerURL() string { return filepath.Join(d.Path, "broker.url") }

// StoreURI is beside BrokerURL.
func (d Dir) StoreURI() string { return filepath.Join(d.Path, "store.uri") }

// OwnerKeyFile is the path of the file with the owner's first API key.
func (d Dir) OwnerKeyFile() string { return filepath.Join(d.Path, "owner.key") }

// WriteOwnerKey writes the owner's first API key into a file that only its owner reads.
func (d Dir) WriteOwnerKey(key string) error {
	if err := atomicfile.Replace(d.OwnerKeyFile(), []byte(key+"\n")); err != nil {
		return fmt.Errorf("write the owner's API key, which orch admin owner-key replaces: %w", err)
	}
	return nil
}

// HasSecrets reports whether the directory has keys of its own.
func (d Dir) HasSecrets() bool {
	_, err := os.Stat(d.SecretsFile())
	return err == nil
}

// CopySecrets copies the directory's own keys, if any, into a new one.
func (d Dir) CopySecrets(to Dir) error {
	text, err := os.ReadFile(d.SecretsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = atomicfile.Create(to.SecretsFile(), text)
	}
	if err != nil {
		return fmt.Errorf("copy the keys of secrets: %w", err)
	}
	return nil
}

// Store is the path of the embedded store.
func (d Dir) Store() string { return filepath.Join(d.Path, "store") }

// HasStreams reports whether a broker has used the directory. A backup has no streams.
func (d Dir) HasStreams() bool {
	_, err := os.Stat(d.NATS())
	return err == nil
}

// NoBackup returns ErrBackup for a backup. A directory with streams is none: an earlier version has run a server on it.
func (d Dir) NoBackup() error {
	if embeddedmongo.IsBackup(d.Store()) && !d.HasStreams() {
		return fmt.Errorf("open %s: %w", d.Path, ErrBackup)
	}
	return nil
}

// NATS is the path of the embedded broker's streams.
func (d Dir) NATS() string { return filepath.Join(d.Path, "nats") }

func readMark(path string) (mark, error) {
	text, err := os.ReadFile(filepath.Join(path, markName))
	if err != nil {
		return mark{}, err
	}
	var m mark
	if err := json.Unmarshal(text, &m); err != nil {
		return mark{}, err
	}
	return m, nil
}

// writeMark writes the mark atomically.
func writeMark(path string, m mark) error {
	text, err := json.Marshal(m)
	if err == nil {
		err = atomicfile.Replace(filepath.Join(path, markName), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("mark the data directory: %w", err)
	}
	return nil
}
