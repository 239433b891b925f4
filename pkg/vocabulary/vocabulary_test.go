package vocabulary_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/vocabulary"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNames(t *testing.T) {
	require.Equal(t, "orch.flow-run.Completed", vocabulary.Orch.Name("flow-run", "Completed"))
	require.Equal(t, "prefect.flow-run.Completed", vocabulary.Prefect.Name("flow-run", "Completed"))
	require.Equal(t, "orch-cloud.webhook.failed", vocabulary.Orch.CloudName("webhook", "failed"))
	require.Equal(t, "prefect-cloud.webhook.failed", vocabulary.Prefect.CloudName("webhook", "failed"))
	require.Equal(t, "orch.resource.id", vocabulary.Orch.ResourceID())
	require.Equal(t, "__prefect_kind", vocabulary.Prefect.KindKey())
	require.Equal(t, "3.9.1", vocabulary.Prefect.ServerVersion("0.1.0"))
	require.Equal(t, "0.1.0", vocabulary.Orch.ServerVersion("0.1.0"))
}

func TestParse(t *testing.T) {
	for setting, want := range map[string]vocabulary.Vocabulary{"": vocabulary.Orch, "orch": vocabulary.Orch, "prefect": vocabulary.Prefect} {
		got, err := vocabulary.Parse(setting)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := vocabulary.Parse("Prefect")
	require.ErrorContains(t, err, "neither orch nor prefect")
}

func TestHeadersInBothVocabularies(t *testing.T) {
	for _, name := range vocabulary.VersionHeaders() {
		value, header := vocabulary.ClientAPIVersion(http.Header{http.CanonicalHeaderKey(name): {"0.8.4"}})
		require.Equal(t, []string{"0.8.4", name}, []string{value, header})
	}
	value, header := vocabulary.ClientAPIVersion(http.Header{})
	require.Empty(t, value+header)
}

// stray matches a literal name of the server that should be built by this package.
var stray = regexp.MustCompile("[\"`](orch|prefect)(-cloud)?\\.(resource|flow|flow-run|task-run|deployment|webhook|work-pool|work-queue|worker|automation|artifact|event|tag|state-[a-z]+|run-count)[.\"`-]|__(orch|prefect)_kind|(?i:x-(orch|prefect)-api-version)")

// TestNoStrayNames searches the product's Go code for such literals.
func TestNoStrayNames(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, dir := range []string{"pkg", "services"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := d.Name()
			if d.IsDir() && (name == "vocabulary" || name == "testdata") {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i, line := range strings.Split(string(source), "\n") {
				code, _, _ := strings.Cut(line, "// ")
				if stray.MatchString(code) {
					t.Errorf("%s:%d spells a name that package vocabulary builds: %s", path, i+1, strings.TrimSpace(line))
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
}
