//go:build !unix

package embeddednats

import "os"

// lockFile only proves that the directory can be written to: there is no portable advisory lock.
func lockFile(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}
