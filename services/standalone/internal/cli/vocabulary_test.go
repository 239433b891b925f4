package cli_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone/internal/cli"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

func TestVocabularyArguments(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
	}{
		"unknown vocabulary":     {[]string{"convert", "--to", "latin"}, 2},
		"empty vocabulary":       {[]string{"convert", "--to", ""}, 2},
		"directory and database": {[]string{"--data-dir", "x", "--from", "mongodb://x"}, 2},
		"no directory":           {[]string{"--data-dir", filepath.Join(t.TempDir(), "none")}, 1},
		"nothing to convert":     {[]string{"convert", "--to", "prefect", "--data-dir", t.TempDir()}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := orch(t, "", append([]string{"vocabulary"}, tc.args...)...)
			require.Equal(t, tc.code, cli.ExitCode(err), err)
		})
	}
}

func TestVocabularyOfADirectory(t *testing.T) {
	dir := t.TempDir()
	opened, err := datadir.Open(dir, vocabulary.Prefect)
	require.NoError(t, err)
	require.NoError(t, opened.Mark(opened.Vocabulary))
	out, err := orch(t, "", "vocabulary", "--data-dir", dir)
	require.NoError(t, err)
	require.Equal(t, "prefect\n", out)

	_, err = orch(t, "", "vocabulary", "convert", "--to", "orch", "--data-dir", dir)
	require.NoError(t, err, "a directory that no server has filled")
	out, err = orch(t, "", "vocabulary", "--data-dir", dir)
	require.NoError(t, err)
	require.Equal(t, "orch\n", out)
}
