package vocabulary_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/vocabulary"
)

func TestRename(t *testing.T) {
	for name, want := range map[string]string{
		"orch.flow-run.Completed": "prefect.flow-run.Completed", "orch-cloud.webhook.failed": "prefect-cloud.webhook.failed",
		"orch.resource.id": "prefect.resource.id", "orch.flow-run.": "prefect.flow-run.", "orch.*": "prefect.*", "orch.flow*": "prefect.flow*",
		"orch.run-count": "prefect.run-count", "__orch_kind": "__prefect_kind", "prefect.flow.1": "prefect.flow.1",
		"orchestra.x": "orchestra.x", "orch": "orch", "orch.": "orch.", "orch*": "orch*", "orch.mine.x": "orch.mine.x", "my.orch.flow.1": "my.orch.flow.1",
		"Orch.flow.1": "Orch.flow.1", " orch.flow.1": " orch.flow.1", "orch-cloud": "orch-cloud", "orch.mine*": "orch.mine*", "": "",
	} {
		require.Equal(t, want, vocabulary.Prefect.Rename(name), name)
	}
}

func TestRenameThereAndBack(t *testing.T) {
	parts := []string{"orch", "prefect", "-cloud", ".", "flow-run", "resource", "id", "*", "mine", "x", "__orch_kind", "__prefect_kind"}
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 6).Draw(t, "parts"), "")
		owner, ok := vocabulary.Owner(name)
		if !ok {
			require.Equal(t, name, owner.Other().Rename(name))
			return
		}
		there := owner.Other().Rename(name)
		require.NotEqual(t, name, there)
		other, ok := vocabulary.Owner(there)
		require.True(t, ok)
		require.Equal(t, owner.Other(), other)
		require.Equal(t, name, owner.Rename(there))
	})
}

// built matches the kinds of the names that the product builds.
var built = regexp.MustCompile(`\b(?:v|vocab|words|Vocabulary)\.(?:Name|CloudName)\("([a-z-]+)"|Kind: "([a-z-]+)", Verb`)

func TestEveryKindOfNameIsKnown(t *testing.T) {
	found := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, match := range built.FindAllStringSubmatch(string(source), -1) {
			found++
			kind := match[1] + match[2]
			_, ok := vocabulary.Owner(vocabulary.Orch.Name(kind))
			require.True(t, ok, "%s builds names of the kind %q", path, kind)
		}
		return err
	})
	require.NoError(t, err)
	require.Greater(t, found, 30)
}

func TestConversionMark(t *testing.T) {
	c := vocabulary.Conversion{From: vocabulary.Orch, To: vocabulary.Prefect}
	require.Equal(t, "orch-to-prefect", c.String())
	got, ok := vocabulary.ParseConversion(c.String())
	require.True(t, ok)
	require.Equal(t, c, got)
	for _, mark := range []string{"", "orch", "prefect", "-to-", "orch-to-", "orch-to-latin", "latin-to-orch"} {
		_, ok := vocabulary.ParseConversion(mark)
		require.False(t, ok, mark)
	}
	_, err := vocabulary.Parse(c.String())
	require.ErrorIs(t, err, vocabulary.ErrConverting)
	require.ErrorContains(t, err, "orch vocabulary convert --to prefect")
}

func TestReservedNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"orch-cloud.workspace-access.created": true, "prefect-cloud.webhook.failed": true, "orch-cloud.": true, "orch-cloud.mine": true,
		"Orch-Cloud.user.1": true, " orch-cloud.user.1": true, "\u200b\torch-cloud.user.1": true, "*prefect-cloud.x": true,
		"orch\u200b-cloud.user.1": true, "orch-clo\u00adud\u2060.user.1": true, "prefect\x00-cloud\ufeff.x": true, "o\u0307rch-cloud.x": true,
		"orch-cloud": false, "orch-clouds.x": false, "my.orch-cloud.x": false, "orch.flow-run.Completed": false, "prefect.worker.started": false, "": false,
	} {
		require.Equal(t, want, vocabulary.Reserved(name), name)
	}
	for name, want := range map[string]bool{
		"orch.flow-run.Completed": true, "prefect.task-run.Failed": true, "orch.flow-runner.x": false, "orch.flow-run": false, "orch-cloud.flow-run.x": false,
		"shop.flow-run.Completed": false,
	} {
		require.Equal(t, want, vocabulary.RunState(name), name)
	}
}
