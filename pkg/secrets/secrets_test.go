package secrets_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/secrets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ring(t *testing.T, keys ...string) secrets.Keyring {
	t.Helper()
	r, err := secrets.Parse(strings.Join(keys, ","))
	require.NoError(t, err)
	return r
}

var field = secrets.FieldRef{Workspace: uuid.New(), Document: uuid.New(), Field: "block_document.data"}

func TestWhatIsSealedOpensInItsPlaceAlone(t *testing.T) {
	t.Parallel()
	r := ring(t, secrets.NewKey())
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOf(rapid.Byte()).Draw(t, "secret")
		sealed, err := r.Seal(field, secret)
		require.NoError(t, err)
		if len(secret) > 8 {
			require.False(t, bytes.Contains(sealed, secret))
		}
		open, err := r.Open(field, sealed)
		require.NoError(t, err)
		require.True(t, bytes.Equal(secret, open))
		again, err := r.Seal(field, secret)
		require.NoError(t, err)
		require.NotEqual(t, sealed, again)

		for _, other := range []secrets.FieldRef{
			{Workspace: uuid.New(), Document: field.Document, Field: field.Field},
			{Workspace: field.Workspace, Document: uuid.New(), Field: field.Field},
			{Workspace: field.Document, Document: field.Workspace, Field: field.Field},
			{Workspace: field.Workspace, Document: field.Document, Field: field.Field + "x"},
		} {
			_, err := r.Open(other, sealed)
			require.ErrorIs(t, err, secrets.ErrDamaged)
		}
	})
}

func TestWhatIsChangedDoesNotOpen(t *testing.T) {
	t.Parallel()
	r := ring(t, secrets.NewKey())
	sealed, err := r.Seal(field, []byte("hunter2"))
	require.NoError(t, err)
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		_, err := r.Open(field, changed)
		require.Error(t, err, i)
		_, err = r.Open(field, sealed[:i])
		require.Error(t, err, i)
	}
}

func TestTheFirstKeySealsAndAllOpen(t *testing.T) {
	t.Parallel()
	old, next := secrets.NewKey(), secrets.NewKey()
	before, both, after := ring(t, old), ring(t, next, old), ring(t, next)
	sealed, err := before.Seal(field, []byte("x"))
	require.NoError(t, err)
	open, err := both.Open(field, sealed)
	require.NoError(t, err)
	require.Equal(t, "x", string(open))
	require.True(t, before.Current(sealed))
	require.False(t, both.Current(sealed))

	_, err = after.Open(field, sealed)
	require.ErrorIs(t, err, secrets.ErrUnknownKey)
	require.ErrorContains(t, err, strings.TrimPrefix(before.String(), "keys "), "the key that is missing is named")

	sealed, err = both.Seal(field, []byte("x"))
	require.NoError(t, err)
	_, err = after.Open(field, sealed)
	require.NoError(t, err)
	require.Equal(t, both.String(), after.With(before).With(after).String())
}

func TestWithoutAKeyNothingIsSealed(t *testing.T) {
	t.Parallel()
	var none secrets.Keyring
	require.True(t, none.Empty())
	_, err := none.Seal(field, []byte("x"))
	require.ErrorIs(t, err, secrets.ErrNoKey)
	sealed, err := ring(t, secrets.NewKey()).Seal(field, []byte("x"))
	require.NoError(t, err)
	_, err = none.Open(field, sealed)
	require.ErrorIs(t, err, secrets.ErrUnknownKey)
	require.False(t, none.Current(sealed))
}

func TestParseRefusesInvalidKeys(t *testing.T) {
	t.Parallel()
	k := secrets.NewKey()
	for name, text := range map[string]string{
		"not base64": "!" + k[1:],
		"short":      base64.StdEncoding.EncodeToString(make([]byte, 16)),
		"long":       base64.StdEncoding.EncodeToString(make([]byte, 33)),
		"no random":  base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"twice":      k + "," + k,
	} {
		_, err := secrets.Parse(text)
		require.ErrorIs(t, err, secrets.ErrKeys, name)
		require.NotContains(t, err.Error(), text)
	}
	for text, want := range map[string]int{"": 0, " \n": 0, k: 1, k + "\n": 1, "# a\n" + secrets.NewKey() + ", \n" + k: 2} {
		r, err := secrets.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want == 0, r.Empty())
	}
}

func TestKeysAreNotPrinted(t *testing.T) {
	t.Parallel()
	k := secrets.NewKey()
	r := ring(t, k)
	raw, err := base64.StdEncoding.DecodeString(k)
	require.NoError(t, err)
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "ring", r)
	encoded, err := json.Marshal(struct{ R secrets.Keyring }{r})
	require.NoError(t, err)
	fmt.Fprintf(&out, "%v %+v %#v %s %s", r, r, r, r, encoded)
	for _, form := range []string{k, string(raw), fmt.Sprint(raw), fmt.Sprintf("%x", raw), fmt.Sprintf("%#v", raw)} {
		require.NotContains(t, out.String(), form)
	}
}

func TestFileIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "secrets.key")
	_, err := secrets.ReadFile(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	rings := make([]secrets.Keyring, 16)
	var group sync.WaitGroup
	for i := range rings {
		group.Go(func() {
			r, err := secrets.File(path)
			if err == nil {
				rings[i] = r
			}
		})
	}
	group.Wait()
	for _, r := range rings {
		require.False(t, r.Empty())
		require.Equal(t, rings[0].String(), r.String())
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing half-written is left")
}

func TestFileThatOthersReadIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secrets.key")
	_, err := secrets.File(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o640))
	_, err = secrets.File(path)
	require.ErrorIs(t, err, secrets.ErrOpenFile)
	require.ErrorContains(t, err, path)
}

func TestFileWithoutKeysIsRefusedAndLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secrets.key")
	for _, text := range []string{"", "# nothing\n", "hunter2\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := secrets.File(path)
		require.ErrorIs(t, err, secrets.ErrKeys)
		have, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(have))
	}
	_, err := secrets.File(filepath.Join(t.TempDir(), "no", "directory"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzOpen(f *testing.F) {
	r, err := secrets.Parse(secrets.NewKey())
	require.NoError(f, err)
	sealed, err := r.Seal(field, []byte("x"))
	require.NoError(f, err)
	f.Add(sealed)
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, text []byte) {
		if open, err := r.Open(field, text); err == nil && !bytes.Equal(text, sealed) {
			t.Fatalf("%x opened as %x", text, open)
		}
	})
}
