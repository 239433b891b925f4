package documents_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	require.NoError(t, err)
	return string(text)
}

// names returns the distinct matches of a pattern's first group.
func names(pattern *regexp.Regexp, text string) map[string]bool {
	found := map[string]bool{}
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return found
}

var (
	variable = regexp.MustCompile(`\b(ORCH_[A-Z][A-Z_]*[A-Z])\b`)
	setting  = regexp.MustCompile("(?m)^\\| `(ORCH_[A-Z_]+)` \\|")
	composed = regexp.MustCompile(`\$\{(ORCH_[A-Z_]+)`) // docker-compose.yml reads and documents them.
)

// ofTheTests are the variables of tests that operators run.
var ofTheTests = map[string]bool{"ORCH_TEST_MONGODB_URI": true, "ORCH_TEST_MONGOD": true}

// ofTheCommandLine are the variables that commands read; docs/cli.md documents them.
var ofTheCommandLine = map[string]bool{"ORCH_API_URL": true, "ORCH_API_KEY": true, "ORCH_PROFILE": true, "ORCH_PROFILES": true}

func TestDocumentsNameSettingsThatThereAre(t *testing.T) {
	t.Parallel()
	existing := names(setting, read(t, "docs", "configuration.md"))
	require.Greater(t, len(existing), 30)
	maps.Copy(existing, names(composed, read(t, "docker-compose.yml")))
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for name := range names(variable, string(text)) {
			exists := existing[name] || existing[strings.TrimSuffix(name, "_FILE")] || ofTheCommandLine[name] || ofTheTests[name]
			require.True(t, exists, "%s names %s", page, name)
		}
	}
	commandLine := names(variable, read(t, "docs", "cli.md"))
	for name := range ofTheCommandLine {
		require.True(t, commandLine[name], "docs/cli.md explains %s", name)
	}
}

var (
	metric   = regexp.MustCompile(`"(orch_[a-z_]+)"`)
	explains = regexp.MustCompile("(?m)^\\| `(orch_[a-z_]+)")
)

func TestOperationsListsEveryMetric(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	for _, dir := range []string{"pkg", "services"} {
		for _, file := range files(t, filepath.Join(root, dir), ".go") {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for name := range names(metric, string(text)) {
				made[name] = true
			}
		}
	}
	require.Equal(t, made, names(explains, read(t, "docs", "operations.md")))
}

var (
	target  = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
	command = regexp.MustCompile("(?m)(?:^|`)make ([a-z][a-z0-9-]*)")
)

func TestDocumentsNameTargetsThatThereAre(t *testing.T) {
	t.Parallel()
	existing := names(target, read(t, "Makefile"))
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for name := range names(command, string(text)) {
			require.True(t, existing[name], "%s names make %s", page, name)
		}
	}
}

// tree is a line of the tree in CONTRIBUTING.md, optionally with directories below it.
var tree = regexp.MustCompile(`(?m)^([a-z]+(?:/[a-z]+)?/) +(.*)$`)

func TestTheTreeIsThatOfTheRepository(t *testing.T) {
	t.Parallel()
	list, below := regexp.MustCompile(`^(?:[a-z0-9]+/ ?)+$`), regexp.MustCompile(`([a-z0-9]+)/`)
	lines := tree.FindAllStringSubmatch(read(t, "CONTRIBUTING.md"), -1)
	require.NotEmpty(t, lines)
	for _, line := range lines {
		require.DirExists(t, filepath.Join(root, line[1]))
		if !list.MatchString(line[2]) {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(root, line[1]))
		require.NoError(t, err)
		there := map[string]bool{}
		for _, entry := range entries {
			if entry.IsDir() {
				there[entry.Name()] = true
			}
		}
		require.Equal(t, there, names(below, line[2]), "the folders of %s", line[1])
	}
}

// Every package is in the table of the architecture page.
func TestTheArchitectureHasEveryPackage(t *testing.T) {
	t.Parallel()
	architecture := read(t, "docs", "architecture.md")
	entries, err := os.ReadDir(filepath.Join(root, "pkg"))
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() {
			require.Contains(t, architecture, "`pkg/"+entry.Name()+"`")
		}
	}
}
