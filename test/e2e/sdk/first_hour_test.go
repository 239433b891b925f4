//go:build e2esdk

package sdk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// firstPage leads from an installed program to a flow with task runs, a worker, a webhook, and an automation that starts a run.
const firstPage = "../../../docs/tutorials/from-prefect.md"

// TestFirstHour installs the release in ORCH_TEST_RELEASE as a newcomer may, by an archive, a package, a container and Compose, and follows the
// first tutorial with each. It prints how long that took from the installation on. Forms that this machine cannot run are skipped.
func TestFirstHour(t *testing.T) {
	dist := os.Getenv("ORCH_TEST_RELEASE")
	if dist == "" {
		t.Skip("ORCH_TEST_RELEASE is not set: make e2e-first-hour sets it")
	}
	release := func(extension string) string {
		found, err := filepath.Glob(filepath.Join(dist, "orch_*_linux_"+runtime.GOARCH+extension))
		require.NoError(t, err)
		require.Len(t, found, 1, extension)
		return found[0]
	}
	install := func(t *testing.T, name string, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		require.NoError(t, err, "%s %v\n%s", name, args, out)
	}
	for form, prepare := range map[string]func(t *testing.T) *reader{
		"archive": func(t *testing.T) *reader {
			dir := t.TempDir()
			install(t, "tar", "--extract", "--strip-components=1", "--directory", dir, "--file", release(".tar.gz"))
			return newReaderAt(t, dir, e2e.FreeAddress(t))
		},
		"deb": func(t *testing.T) *reader {
			if _, err := exec.LookPath("dpkg-deb"); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			install(t, "dpkg-deb", "--extract", release(".deb"), dir)
			return newReaderAt(t, filepath.Join(dir, "usr", "bin"), e2e.FreeAddress(t))
		},
		"container": func(t *testing.T) *reader {
			image := os.Getenv("ORCH_TEST_IMAGE")
			if image == "" {
				t.Skip("ORCH_TEST_IMAGE names no image of orch")
			}
			address := e2e.FreeAddress(t)
			name := "orch-e2e-" + address[strings.LastIndex(address, ":")+1:]
			t.Cleanup(func() { _ = exec.Command("docker", "rm", "--force", "--volumes", name).Run() })
			install(t, "docker", "run", "--detach", "--name", name, "--volume", "/data", "--publish", address+":4200",
				"--env", "ORCH_GATEWAY_PUBLISHED="+address, image, "server", "--listen", "0.0.0.0:4200", "--vocabulary", "prefect")
			(&e2e.Orch{URL: "http://" + address}).WaitReady(t)
			r := newReaderAt(t, programs.Dir, address)
			r.served = true
			return r
		},
		"compose": func(t *testing.T) *reader {
			if err := e2e.FindEngine(t.Context()); err != nil {
				t.Skip(err)
			}
			o, took := e2e.NewCompose(t, "ORCH_VOCABULARY=prefect").Up()
			t.Logf("make up: %s", took)
			r := newReaderAt(t, programs.Dir, strings.TrimPrefix(o.URL, "http://"))
			r.served = true
			return r
		},
	} {
		t.Run(form, func(t *testing.T) {
			began := time.Now()
			prepare(t).follow(firstPage)
			fmt.Printf("%-10s %s\n", form, time.Since(began).Round(time.Second))
		})
	}
}
