//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// TestWebhookPage runs the examples of docs/webhooks.md as printed, against both forms of the product in both vocabularies. Examples with
// the names of one vocabulary run in that vocabulary, all others in both.
func TestWebhookPage(t *testing.T) {
	root, err := repositoryRoot()
	require.NoError(t, err)
	page := filepath.Join(root, "docs", "webhooks.md")
	for _, form := range forms {
		for _, v := range []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect} {
			t.Run(form.name+"/"+v.String(), func(t *testing.T) {
				o := form.start(t, "ORCH_VOCABULARY="+v.String())
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				shell := exec.CommandContext(ctx, "sh", "-eu", "-c", strings.Join(examples(t, page, "sh", v), "\n"))
				shell.Dir = t.TempDir()
				shell.Env = append(os.Environ(), "PATH="+programs.Dir+":"+os.Getenv("PATH"), "ORCH_API_URL="+o.API(), "HOME="+shell.Dir)
				out, err := shell.CombinedOutput()
				require.NoError(t, err, "%s", out)
				require.NotContains(t, string(out), "warning: line")
				require.Contains(t, string(out), "204")

				automations := examples(t, page, "yaml", v)
				require.Len(t, automations, 1)
				file := filepath.Join(t.TempDir(), "automation.yaml")
				require.NoError(t, os.WriteFile(file, []byte(automations[0]), 0o600))
				create := exec.CommandContext(ctx, filepath.Join(programs.Dir, "orch"), "automation", "create", "-f", file)
				create.Env = shell.Env
				out, err = create.CombinedOutput()
				require.NoError(t, err, "%s", out)
			})
		}
	}
}

// examples returns the blocks of a document in a language, without those that have names of the other vocabulary.
func examples(t *testing.T, path, language string, v vocabulary.Vocabulary) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var blocks []string
	for rest := string(text); ; {
		_, after, found := strings.Cut(rest, "```"+language+"\n")
		if !found {
			break
		}
		block, remaining, found := strings.Cut(after, "```")
		require.True(t, found, "a block that does not end")
		if !strings.Contains(block, v.Other().ResourceID()) {
			blocks = append(blocks, block)
		}
		rest = remaining
	}
	require.NotEmpty(t, blocks)
	return blocks
}
