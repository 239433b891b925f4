package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/orch-project/orch/pkg/atomicfile"
)

// ErrOpenFile means that others than its owner may read a file of keys.
var ErrOpenFile = errors.New("the file of keys must be its owner's alone (chmod 600)")

// fileHead explains a file of keys to whoever finds it.
const fileHead = `# The key that secrets in the store beside this file are sealed with. Without it they are lost.
# A new key goes on a line in front; the old ones stay for what they have sealed.
`

// File reads a file of keys, and makes it with one new key when there is none yet. Of several processes that make it at
// once one wins and the others read what it wrote. A file that others than its owner may read is refused.
func File(path string) (Keyring, error) {
	ring, err := ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return ring, err
	}
	if err := atomicfile.Create(path, []byte(fileHead+NewKey()+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
		return Keyring{}, fmt.Errorf("make a file of keys: %w", err)
	}
	return ReadFile(path)
}

// ReadFile reads a file of keys that is there already.
func ReadFile(path string) (Keyring, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Keyring{}, fmt.Errorf("read the file of keys: %w", err)
	}
	// Windows keeps permissions elsewhere; the mode says nothing there.
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return Keyring{}, fmt.Errorf("%s has mode %04o: %w", path, mode, ErrOpenFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Keyring{}, fmt.Errorf("read the file of keys: %w", err)
	}
	ring, err := Parse(string(text))
	if err == nil && ring.Empty() {
		err = fmt.Errorf("it holds none: %w", ErrKeys)
	}
	if err != nil {
		return Keyring{}, fmt.Errorf("read %s: %w", path, err)
	}
	return ring, nil
}
