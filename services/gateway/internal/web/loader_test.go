package web

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryTemplateCompiles(t *testing.T) {
	t.Parallel()
	set, err := templates()
	require.NoError(t, err)
	folder, err := fs.Sub(templateFiles, "templates")
	require.NoError(t, err)
	compiled := 0
	require.NoError(t, fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		compiled++
		_, err = set.FromCache(name)
		return err
	}))
	require.NotZero(t, compiled)
}
