//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMongoFolder builds the portable test folder for MongoDB servers. It runs a few tests of each package in it on the
// embedded store, without Go on the path and outside of the repository.
func TestMongoFolder(t *testing.T) {
	root, err := repositoryRoot()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "carried")
	build := exec.CommandContext(t.Context(), filepath.Join(root, "tools", "mongo-folder"), dir)
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	run := exec.CommandContext(t.Context(), filepath.Join(dir, "run"), "-test.v",
		"-test.run=^Test(Vectors|Conformance|EveryIndexIsUsed|StoreFailures|CommandsOfABurst|Docs)")
	run.Dir = t.TempDir()
	run.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	out, err = run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := string(out)
	require.Contains(t, text, "store: the embedded store")
	require.Contains(t, text, "all pass on the embedded store")
	for _, passed := range []string{"TestVectors", "TestConformance/embedded", "TestEveryIndexIsUsed", "TestStoreFailures", "TestCommandsOfABurst"} {
		require.Contains(t, text, "--- PASS: "+passed)
	}
}
