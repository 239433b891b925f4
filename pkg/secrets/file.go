package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/orch-project/orch/pkg/atomicfile"
)

// ErrOpenFile means that users other than the owner may read a key file.
var ErrOpenFile = errors.New("only its owner may read a key file (chmod 600)")

// fileHead explains the key file to its reader.
const fileHead = `# The key that encrypts the secrets in the store beside this file. Without it they are lost.
# To rotate, add a new key on a line before the old ones; keep the old keys for the secrets that they encrypted.
`

// File reads a key file. If it does not exist, File creates it with one new key. When several processes create it
// concurrently, one wins and the others read its file. A file that users other than its owner may read is refused.
func File(path string) (Keyring, error) {
	ring, err := ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return ring, err
	}
	if err := atomicfile.Create(path, []byte(fileHead+NewKey()+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
		return Keyring{}, fmt.Errorf("create key file: %w", err)
	}
	return ReadFile(path)
}

// ReadFile reads an existing key file.
func ReadFile(path string) (Keyring, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Keyring{}, fmt.Errorf("read key file: %w", err)
	}
	// Windows has no such permission bits.
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return Keyring{}, fmt.Errorf("%s has mode %04o: %w", path, mode, ErrOpenFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Keyring{}, fmt.Errorf("read key file: %w", err)
	}
	ring, err := Parse(string(text))
	if err == nil && ring.Empty() {
		err = fmt.Errorf("no keys: %w", ErrKeys)
	}
	if err != nil {
		return Keyring{}, fmt.Errorf("read %s: %w", path, err)
	}
	return ring, nil
}
