//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// terraform is a working directory of Terraform with Prefect's provider.
type terraform struct {
	t   *testing.T
	dir string
	env []string
}

// newTerraform returns a working directory for a server. It skips the test without Terraform or the provider.
func newTerraform(t *testing.T, o *Orch) terraform {
	t.Helper()
	root, err := repositoryRoot()
	require.NoError(t, err)
	tf := terraform{t: t, dir: t.TempDir()}
	settings := filepath.Join(tf.dir, "settings.tfrc")
	override := fmt.Sprintf("provider_installation {\n  dev_overrides { \"prefecthq/prefect\" = %q }\n  direct {}\n}\n", os.Getenv(providerSetting))
	require.NoError(t, os.WriteFile(settings, []byte(override), 0o600))
	text, err := os.ReadFile(filepath.Join(root, "test", "e2e", "testdata", "terraform", "main.tf"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(tf.dir, "main.tf"), text, 0o600))
	tf.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+settings, "PREFECT_API_URL="+o.API(), "HOME="+tf.dir, "CHECKPOINT_DISABLE=1")
	return tf
}

// providerSetting names the directory with the provider's program.
const providerSetting = "ORCH_TEST_TERRAFORM_PROVIDER"

// run runs a command with the names of a vocabulary and returns its output without line breaks.
func (tf terraform) run(vocabulary, command string, flags ...string) (string, error) {
	tf.t.Helper()
	ctx, cancel := context.WithTimeout(tf.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "terraform", append([]string{command, "-no-color", "-input=false", "-var=vocabulary=" + vocabulary}, flags...)...)
	cmd.Dir, cmd.Env = tf.dir, tf.env
	out, err := cmd.CombinedOutput()
	return strings.Join(strings.Fields(strings.ReplaceAll(string(out), "│", "")), " "), err
}

// TestTerraform applies a configuration, finds no drift, and destroys it, on servers of each vocabulary and on an undecided one. The
// provider does not show itself, so it decides orch; names of the other vocabulary are refused with a sentence.
func TestTerraform(t *testing.T) {
	if _, err := exec.LookPath("terraform"); err != nil || os.Getenv(providerSetting) == "" {
		t.Skip("terraform or its provider is missing; make e2e-terraform PROVIDER=DIR names the provider's directory")
	}
	for name, c := range map[string]struct {
		setting, vocabulary, other string
	}{
		"undecided": {"", "orch", "prefect"}, "orch": {"orch", "orch", "prefect"}, "prefect": {"prefect", "prefect", "orch"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := StartSingleAt(t, programs, dir, FreeAddress(t), "ORCH_VOCABULARY="+c.setting)
			tf := newTerraform(t, o)
			out, err := tf.run(c.other, "apply", "-auto-approve")
			require.Error(t, err)
			require.Contains(t, out, "this server has the vocabulary "+c.vocabulary+": write "+c.vocabulary+".resource.id")
			require.Equal(t, c.vocabulary, marked(t, dir).String())

			out, err = tf.run(c.vocabulary, "apply", "-auto-approve")
			require.NoError(t, err, out)
			out, err = tf.run(c.vocabulary, "plan", "-detailed-exitcode")
			require.NoError(t, err, out)
			require.Contains(t, out, "No changes.")
			out, err = tf.run(c.vocabulary, "destroy", "-auto-approve")
			require.NoError(t, err, out)
			require.Contains(t, out, "Destroy complete! Resources: 9 destroyed.")
		})
	}
}
