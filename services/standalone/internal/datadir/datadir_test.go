package datadir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpenMarksANewDirectoryAndAcceptsItAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		dir, err := datadir.Open(path, vocabulary.Prefect)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(path, "store"), dir.Store())
	}
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing half-written is left")
}

func TestOpenRefusesAnotherVocabularyNamingBoth(t *testing.T) {
	path := t.TempDir()
	_, err := datadir.Open(path, vocabulary.Orch)
	require.NoError(t, err)
	_, err = datadir.Open(path, vocabulary.Prefect)
	require.ErrorIs(t, err, datadir.ErrFormat)
	require.ErrorContains(t, err, `"orch"`)
	require.ErrorContains(t, err, `"prefect"`)
}

func TestUndecidedDirectoryTakesTheFirstVocabulary(t *testing.T) {
	path := t.TempDir()
	dir, err := datadir.Open(path, vocabulary.Undecided)
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(path, "orch.json"), "the caller looks into the store first")
	require.NoError(t, dir.Mark(vocabulary.Undecided))
	found, err := datadir.Existing(path)
	require.NoError(t, err)
	require.Equal(t, vocabulary.Undecided, found.Vocabulary)

	_, err = datadir.Open(path, vocabulary.Prefect)
	require.NoError(t, err)
	for _, vocab := range []vocabulary.Vocabulary{vocabulary.Undecided, vocabulary.Prefect} {
		dir, err = datadir.Open(path, vocab)
		require.NoError(t, err)
		require.Equal(t, vocabulary.Prefect, dir.Vocabulary)
	}
	_, err = datadir.Open(path, vocabulary.Orch)
	require.ErrorIs(t, err, datadir.ErrFormat)
	require.ErrorContains(t, err, "orch vocabulary convert --to orch")
}

func TestOpenRefusesAnotherFormatAndTouchesNothing(t *testing.T) {
	path := t.TempDir()
	mark := filepath.Join(path, "orch.json")
	require.NoError(t, os.WriteFile(mark, []byte(`{"format":99,"vocabulary":"orch"}`), 0o600))
	_, err := datadir.Open(path, vocabulary.Orch)
	require.ErrorIs(t, err, datadir.ErrFormat)
	text, err := os.ReadFile(mark)
	require.NoError(t, err)
	require.JSONEq(t, `{"format":99,"vocabulary":"orch"}`, string(text))
}

func TestOpenRefusesAMarkThatIsNone(t *testing.T) {
	path := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(path, "orch.json"), []byte(`{`), 0o600))
	_, err := datadir.Open(path, vocabulary.Orch)
	require.ErrorContains(t, err, "read what")
}

func TestDefault(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/var/lib/somewhere")
	path, err := datadir.Default()
	require.NoError(t, err)
	require.Equal(t, "/var/lib/somewhere/orch", path)
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", "/home/someone")
	path, err = datadir.Default()
	require.NoError(t, err)
	require.Equal(t, "/home/someone/.local/share/orch", path)
}

func TestSecretsAreTheDirectorysOwnUnlessOthersAreConfigured(t *testing.T) {
	configured, err := secrets.Parse(secrets.NewKey())
	require.NoError(t, err)
	dir, err := datadir.Open(t.TempDir(), vocabulary.Orch)
	require.NoError(t, err)
	ring, err := dir.Secrets(configured)
	require.NoError(t, err)
	require.Equal(t, configured.String(), ring.String())
	require.NoFileExists(t, dir.SecretsFile(), "nothing is made that is not needed")

	own, err := dir.Secrets(secrets.Keyring{})
	require.NoError(t, err)
	again, err := dir.Secrets(secrets.Keyring{})
	require.NoError(t, err)
	require.Equal(t, own.String(), again.String())
	ring, err = dir.Secrets(configured)
	require.NoError(t, err)
	require.Equal(t, configured.With(own).String(), ring.String(), "what was sealed before still opens")

	copied, err := datadir.New(filepath.Join(t.TempDir(), "copy"))
	require.NoError(t, err)
	require.NoError(t, dir.CopySecrets(copied))
	ring, err = copied.Secrets(secrets.Keyring{})
	require.NoError(t, err)
	require.Equal(t, own.String(), ring.String())

	require.NoError(t, os.Chmod(dir.SecretsFile(), 0o644))
	_, err = dir.Secrets(configured)
	require.ErrorIs(t, err, secrets.ErrOpenFile)
}

func TestOpenRefusesAForeignDirectoryAndTouchesNothing(t *testing.T) {
	for _, open := range []func(string) error{
		func(path string) error { _, err := datadir.Open(path, vocabulary.Orch); return err },
		func(path string) error { _, err := datadir.OpenAny(path); return err },
	} {
		path := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(path, "photos"), 0o700))
		err := open(path)
		require.ErrorIs(t, err, datadir.ErrForeign)
		require.ErrorContains(t, err, "photos")
		entries, err := os.ReadDir(path)
		require.NoError(t, err)
		require.Len(t, entries, 1)
	}
}

// TestOpenAcceptsAnInterruptedStart: a directory of ours without a mark, on a file system of its own, with a log beside it.
func TestOpenAcceptsAnInterruptedStart(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{"store", "nats", "secrets.key", "lost+found", "server.log", "server.pid", "orch.json.123"} {
		require.NoError(t, os.WriteFile(filepath.Join(path, name), nil, 0o600))
	}
	_, err := datadir.OpenAny(path)
	require.NoError(t, err)
	_, err = datadir.Open(path, vocabulary.Orch)
	require.NoError(t, err)
}

func TestADirectoryIsRefusedUntilItsConversionIsComplete(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, err := datadir.Open(path, vocabulary.Orch)
	require.NoError(t, err)
	require.NoError(t, dir.MarkConversion(vocabulary.Conversion{From: vocabulary.Orch, To: vocabulary.Prefect}))
	for name, open := range map[string]func() error{
		"Open":      func() error { _, err := datadir.Open(path, vocabulary.Orch); return err },
		"as target": func() error { _, err := datadir.Open(path, vocabulary.Prefect); return err },
		"OpenAny":   func() error { _, err := datadir.OpenAny(path); return err },
		"Existing":  func() error { _, err := datadir.Existing(path); return err },
	} {
		err := open()
		require.ErrorIs(t, err, vocabulary.ErrConverting, name)
		require.ErrorContains(t, err, "orch vocabulary convert --to prefect", name)
	}
	mark, err := datadir.VocabularyMark(path)
	require.NoError(t, err)
	require.Equal(t, "orch-to-prefect", mark)
	require.NoError(t, dir.Mark(vocabulary.Prefect))
	_, err = datadir.Open(path, vocabulary.Prefect)
	require.NoError(t, err)
}
