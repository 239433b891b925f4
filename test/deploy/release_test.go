//go:build e2e

package deploy_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// command runs a program in a directory, and returns its output.
func command(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v\n%s", program, args, out)
	return string(out)
}

// requireProgram skips the test on a machine without a program.
func requireProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(err)
	}
}

// TestRelease installs what `make release-snapshot` wrote into the directory of ORCH_TEST_RELEASE, as far as this machine has the tools, and
// starts the programs.
func TestRelease(t *testing.T) {
	dist := os.Getenv("ORCH_TEST_RELEASE")
	if dist == "" {
		t.Skip("ORCH_TEST_RELEASE is not set: make e2e-release sets it")
	}
	file := func(extension string) string {
		found, err := filepath.Glob(filepath.Join(dist, "orch_*_linux_"+runtime.GOARCH+extension))
		require.NoError(t, err)
		require.Len(t, found, 1, extension)
		return found[0]
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(file(".tar.gz")), "orch_"), "_linux_")

	t.Run("checksums of all files", func(t *testing.T) {
		command(t, dist, "sha256sum", "--check", "--strict", "checksums.txt")
		entries, err := os.ReadDir(dist)
		require.NoError(t, err)
		sums, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
		require.NoError(t, err)
		require.Equal(t, len(entries)-1, strings.Count(string(sums), "\n"))
	})
	t.Run("list of modules", func(t *testing.T) {
		list, err := os.ReadFile(file(".cdx.json"))
		require.NoError(t, err)
		for module := range strings.FieldsSeq("github.com/orch-project/orch/services/standalone go.mongodb.org/mongo-driver/v2 github.com/nats-io/nats-server/v2") {
			require.Contains(t, string(list), `"`+module+`"`)
		}
	})
	t.Run("archive", func(t *testing.T) {
		dir := t.TempDir()
		command(t, dir, "tar", "--extract", "--strip-components=1", "--file", file(".tar.gz"))
		require.FileExists(t, filepath.Join(dir, "LICENSE"))
		requireStarts(t, dir, version)
	})
	t.Run("deb", func(t *testing.T) {
		requireProgram(t, "dpkg-deb")
		dir := t.TempDir()
		command(t, dir, "dpkg-deb", "--extract", file(".deb"), dir)
		requireInstalled(t, dir, version)
		require.Contains(t, command(t, dir, "dpkg-deb", "--info", file(".deb"), "conffiles"), "/etc/orch/orch.env")
	})
	t.Run("rpm", func(t *testing.T) {
		requireProgram(t, "rpm2cpio")
		requireProgram(t, "cpio")
		dir := t.TempDir()
		command(t, dir, "sh", "-c", `rpm2cpio "$0" | cpio --extract --make-directories --no-absolute-filenames --quiet`, file(".rpm"))
		requireInstalled(t, dir, version)
	})
	t.Run("a second build is equal", func(t *testing.T) {
		again := t.TempDir()
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, "tools", "release"), again)
		out, err := cmd.CombinedOutput() // With the version and platforms of the first one, from the environment.
		require.NoError(t, err, "%s", out)
		first, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
		require.NoError(t, err)
		second, err := os.ReadFile(filepath.Join(again, "checksums.txt"))
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}

// requireInstalled checks the files of a package in its root directory: the unit starts an installed program with installed settings.
func requireInstalled(t *testing.T, dir, version string) {
	t.Helper()
	unit, err := os.Open(filepath.Join(dir, "usr", "lib", "systemd", "system", "orch.service"))
	require.NoError(t, err)
	defer unit.Close()
	settings := map[string]string{}
	for lines := bufio.NewScanner(unit); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), "="); ok {
			settings[name] = value
		}
	}
	program, _, _ := strings.Cut(settings["ExecStart"], " ")
	require.FileExists(t, filepath.Join(dir, program))
	environment := filepath.Join(dir, strings.TrimPrefix(settings["EnvironmentFile"], "-"))
	info, err := os.Stat(environment)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it may hold secrets")
	requireStarts(t, filepath.Dir(filepath.Join(dir, program)), version)
}

// requireStarts starts the program orch of a directory as a server.
func requireStarts(t *testing.T, dir, version string) {
	t.Helper()
	require.Contains(t, strings.ReplaceAll(command(t, dir, filepath.Join(dir, "orch"), "version"), "+", "-"), version)
	e2e.StartSingle(t, e2e.Programs{Dir: dir}, t.TempDir()).Stop(t)
}
