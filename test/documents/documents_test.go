package documents_test

import (
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway"
	"github.com/orch-project/orch/services/hooks"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var update = flag.Bool("update", false, "write the generated pages and pkg/config/names.txt")

// root is the root of the repository.
const root = "../.."

const configurationHead = `# Settings

` + "`make gen`" + ` generates this page from the structs of the settings; do not edit it.

Every setting is an environment variable. The variable with the suffix _FILE may instead name a file that contains the
value. ` + "`--check-config`" + ` prints the effective settings of a program. The single binary (` + "`orch server`" + `) reads the
settings of all three services, and sets the addresses between them, the broker and the store automatically.
`

func TestConfigurationIsCurrent(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString(configurationHead)
	seen := map[string]bool{}
	for _, section := range []struct {
		title string
		write func(io.Writer) error
	}{
		{"Logs of every program", config.Markdown[telemetry.Logging]},
		{"gateway", config.Markdown[gateway.Config]},
		{"hooks", config.Markdown[hooks.Config]},
		{"orchestration", config.Markdown[orchestration.Config]},
	} {
		table := rows(t, section.write)
		for _, row := range table[2:] {
			seen[row] = true
		}
		page.WriteString("\n## " + section.title + "\n\n" + strings.Join(table, ""))
	}
	table := rows(t, config.Markdown[standalone.Config])
	own := slices.DeleteFunc(table, func(row string) bool { return seen[row] })
	page.WriteString("\n## orch server, beside those of the services\n\n" + strings.Join(own, ""))

	path := filepath.Join(root, "docs", "configuration.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page.String()), 0o600))
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(page.String(), string(have)), "run make gen")
}

// commandLineSettings are read by the commands, not by a server.
var commandLineSettings = []string{"ORCH_API_KEY", "ORCH_API_URL", "ORCH_PROFILE", "ORCH_PROFILES"}

// TestSettingNamesAreCurrent: the list by which programs recognize misspelled settings has the settings of all.
func TestSettingNamesAreCurrent(t *testing.T) {
	t.Parallel()
	names := slices.Clone(commandLineSettings)
	for _, fieldsOf := range []func() ([]config.Field, error){config.Fields[standalone.Config], config.Fields[telemetry.Logging]} {
		fields, err := fieldsOf()
		require.NoError(t, err)
		for _, f := range fields {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	text := strings.Join(slices.Compact(names), "\n") + "\n"
	path := filepath.Join(root, "pkg", "config", "names.txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(text, string(have)), "run make gen")
}

// rows returns the lines of a table of settings; the first two are its head.
func rows(t *testing.T, write func(io.Writer) error) []string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, write(&b))
	return slices.Collect(strings.Lines(b.String()))
}

// links matches Markdown links to files.
var links = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)

// code matches verbatim Markdown: blocks between fences, and text between backquotes.
var code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

// tests matches names of tests between backquotes.
var tests = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")

func TestDocumentsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	declared := declaredTests(t)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, link := range links.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), link[1]))
			require.NoError(t, err, "%s links to %s", page, link[1])
		}
		for _, name := range tests.FindAllStringSubmatch(string(text), -1) {
			require.True(t, declared[name[1]], "%s names the test %s, which does not exist", page, name[1])
		}
	}
}

// Decisions have a number of their own, are listed, and have date, context, decision and consequences. A record states its present
// reason, so it neither amends nor replaces another one. Numbers of merged records stay unused.
func TestDecisionsAreComplete(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "docs", "adr", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	architecture, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	require.NoError(t, err)
	numbers := map[string]bool{}
	for _, file := range files {
		name := filepath.Base(file)
		require.Regexp(t, `^\d{3}-[a-z0-9-]+\.md$`, name)
		number := name[:3]
		require.False(t, numbers[number], "%s: the number is taken", name)
		numbers[number] = true
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, part := range []string{"# " + number + ": ", "Status: ", "## Context\n", "## Decision\n", "## Consequences\n"} {
			require.Contains(t, string(text), part, file)
		}
		require.NotRegexp(t, `Amends|Amendment|[Rr]eplaced by \[|narrows \[|[Ww]ithdrawn by`, string(text), "%s: edit the other record in place", name)
		require.Contains(t, string(architecture), "](adr/"+name+")", "the list of decisions")
	}
}

// pages returns all Markdown files of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "*.md"))
	require.NoError(t, err)
	for _, dir := range []string{"docs", "deploy", "test", "pkg", "services", "proto"} {
		found = append(found, files(t, filepath.Join(root, dir), ".md")...)
	}
	require.Contains(t, found, filepath.Join(root, "README.md"))
	return found
}

func files(t *testing.T, dir, suffix string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, suffix) {
			found = append(found, path)
		}
		return nil
	}))
	return found
}

var declaration = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	declared := map[string]bool{}
	for _, dir := range []string{"pkg", "services", "proto", "test"} {
		for _, file := range files(t, filepath.Join(root, dir), "_test.go") {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, name := range declaration.FindAllStringSubmatch(string(source), -1) {
				declared[name[1]] = true
			}
		}
	}
	return declared
}
