package profile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/standalone/internal/profile"
)

func TestProfilesAreKeptForTheUserAlone(t *testing.T) {
	file := profile.File(filepath.Join(t.TempDir(), "new", "profiles.json"))
	profiles, err := file.Read()
	require.NoError(t, err)
	require.Empty(t, profiles.Profiles)

	profiles.Profiles["work"] = profile.Profile{APIURL: "https://orch.example/api", Key: "secret"}
	profiles.Active = "work"
	require.NoError(t, file.Write(profiles))
	profiles.Profiles["home"] = profile.Profile{APIURL: "http://127.0.0.1:4200/api"}
	require.NoError(t, file.Write(profiles))

	got, err := file.Read()
	require.NoError(t, err)
	require.Equal(t, profiles, got)
	info, err := os.Stat(string(file))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(string(file)))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file stays")

	_, err = got.Get("play")
	require.ErrorIs(t, err, profile.ErrUnknown)
}

func TestBrokenFileIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profiles.json")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err := profile.File(path).Read()
	require.ErrorContains(t, err, path)
}

func TestEnvironmentNamesTheFile(t *testing.T) {
	t.Setenv("ORCH_PROFILES", "/elsewhere.json")
	file, err := profile.DefaultFile()
	require.NoError(t, err)
	require.Equal(t, profile.File("/elsewhere.json"), file)
}
