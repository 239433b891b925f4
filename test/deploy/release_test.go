//go:build e2e

package deploy_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

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

// TestRelease installs what `make release` wrote into the directory of ORCH_TEST_RELEASE, as far as this machine has the tools, and
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
	t.Run("images", func(t *testing.T) {
		for _, name := range []string{"orch", "orch-gateway", "orch-hooks", "orch-orchestration"} {
			requireImage(t, filepath.Join(dist, name+"_"+version+"_oci.tar"), name)
		}
	})
	t.Run("chart and index", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join(dist, "index.yaml"))
		require.NoError(t, err)
		var index struct {
			Entries map[string][]struct {
				Version string   `json:"version"`
				Digest  string   `json:"digest"`
				URLs    []string `json:"urls"`
			} `json:"entries"`
		}
		require.NoError(t, yaml.Unmarshal(text, &index))
		require.Len(t, index.Entries["orch"], 1)
		entry := index.Entries["orch"][0]
		require.Len(t, entry.URLs, 1)
		packed, err := os.ReadFile(filepath.Join(dist, entry.URLs[0]))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(packed)), entry.Digest)
		chart, err := loader.LoadArchive(bytes.NewReader(packed))
		require.NoError(t, err)
		require.NoError(t, chart.Validate())
		require.Equal(t, entry.Version, chart.Metadata.Version)
		require.Equal(t, version, strings.ReplaceAll(chart.AppVersion(), "+", "-"))
	})
	t.Run("provenance of every file", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join(dist, "provenance.intoto.json"))
		require.NoError(t, err)
		var statement struct {
			Subject []struct {
				Name   string            `json:"name"`
				Digest map[string]string `json:"digest"`
			} `json:"subject"`
		}
		require.NoError(t, json.Unmarshal(text, &statement))
		var sums strings.Builder
		for _, subject := range statement.Subject {
			fmt.Fprintf(&sums, "%s  %s\n", subject.Digest["sha256"], subject.Name)
		}
		all, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
		require.NoError(t, err)
		for line := range strings.Lines(string(all)) {
			if !strings.HasSuffix(line, "provenance.intoto.json\n") {
				require.Contains(t, sums.String(), line)
			}
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
	t.Run("a second build is equal, and signed", func(t *testing.T) {
		again, key, public := t.TempDir(), filepath.Join(t.TempDir(), "key.pem"), filepath.Join(t.TempDir(), "key.pub")
		command(t, dist, "openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
		command(t, dist, "openssl", "ec", "-in", key, "-pubout", "-out", public)
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, "tools", "release"), again)
		cmd.Env = append(os.Environ(), "SIGNING_KEY="+key)
		out, err := cmd.CombinedOutput() // With the version and platforms of the first one, from the environment.
		require.NoError(t, err, "%s", out)
		first, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
		require.NoError(t, err)
		second, err := os.ReadFile(filepath.Join(again, "checksums.txt"))
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
		command(t, again, "sh", "-c", "base64 --decode checksums.txt.sig > signature")
		command(t, again, "openssl", "dgst", "-sha256", "-verify", public, "-signature", "signature", "checksums.txt")
	})
}

// requireImage checks an OCI archive: every file has the digest of its name, and the image of this machine's platform starts its program as
// a user without rights.
func requireImage(t *testing.T, archive, name string) {
	t.Helper()
	dir := t.TempDir()
	command(t, dir, "tar", "--extract", "--file", archive)
	read := func(digest string, into any) []byte {
		algorithm, sum, _ := strings.Cut(digest, ":")
		content, err := os.ReadFile(filepath.Join(dir, "blobs", algorithm, sum))
		require.NoError(t, err)
		require.Equal(t, sum, fmt.Sprintf("%x", sha256.Sum256(content)))
		if into != nil {
			require.NoError(t, json.Unmarshal(content, into))
		}
		return content
	}
	type descriptor struct {
		Digest   string `json:"digest"`
		Platform struct {
			OS           string `json:"os"`
			Architecture string `json:"architecture"`
		} `json:"platform"`
		Annotations map[string]string `json:"annotations"`
	}
	var layout, index struct {
		Manifests []descriptor `json:"manifests"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &layout))
	require.Len(t, layout.Manifests, 1)
	require.Contains(t, layout.Manifests[0].Annotations["io.containerd.image.name"], "/"+name+":")
	read(layout.Manifests[0].Digest, &index)
	at := slices.IndexFunc(index.Manifests, func(one descriptor) bool {
		return one.Platform.OS == "linux" && one.Platform.Architecture == runtime.GOARCH
	})
	require.GreaterOrEqual(t, at, 0)
	var manifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	read(index.Manifests[at].Digest, &manifest)
	var image struct {
		Config struct {
			User       string   `json:"User"`
			Entrypoint []string `json:"Entrypoint"`
		} `json:"config"`
	}
	read(manifest.Config.Digest, &image)
	require.Equal(t, "65532:65532", image.Config.User)
	for _, layer := range manifest.Layers {
		cmd := exec.CommandContext(t.Context(), "tar", "--extract", "--gzip", "--no-same-owner")
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(read(layer.Digest, nil))
		require.NoError(t, cmd.Run())
	}
	require.DirExists(t, filepath.Join(dir, "data"))
	command(t, dir, filepath.Join(dir, image.Config.Entrypoint[0]), "--help")
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
