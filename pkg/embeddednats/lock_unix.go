//go:build unix

package embeddednats

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes an advisory lock that the kernel frees when the process dies, however it dies. The file stays: removing
// it would let two processes lock two different files of one name.
func lockFile(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrDirInUse
		}
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
