package layout_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// root is the root of the repository.
const root = "../.."

// source is one Go file.
type source struct {
	path string // From the root, with slashes.
	text []byte
}

func (s source) dir() string   { return filepath.ToSlash(filepath.Dir(s.path)) }
func (s source) isTest() bool  { return strings.HasSuffix(s.path, "_test.go") }
func (s source) written() bool { return !generated.Match(s.text) }

// generated is the marker of generated code that Go defines.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func sources(t *testing.T) []source {
	t.Helper()
	var found []source
	for _, dir := range []string{"pkg", "proto", "services", "test"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir() || filepath.Ext(path) != ".go":
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			found = append(found, source{filepath.ToSlash(name), text})
			return err
		}))
	}
	require.NotEmpty(t, found)
	return found
}

// A goroutine that outlives its test is a leak in the product, or a test that affects the next one.
func TestEveryPackageWithTestsLooksForLeaks(t *testing.T) {
	t.Parallel()
	checked, tested := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if !s.isTest() {
			continue
		}
		tested[s.dir()] = true
		if bytes.Contains(s.text, []byte("func TestMain(")) {
			checked[s.dir()] = bytes.Contains(s.text, []byte("goleak.VerifyTestMain(m")) || bytes.Contains(s.text, []byte("testkit.Main(m")) ||
				bytes.Contains(s.text, []byte("goleak.Find("))
		}
	}
	// It tests separate processes; its TestMain builds them.
	delete(tested, "test/e2e")
	for dir := range tested {
		require.True(t, checked[dir], "the tests of %s do not look for leaked goroutines in TestMain", dir)
	}
}

// maxLines is the size beyond which a file must be split.
const maxLines = 800

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.written() {
			require.LessOrEqual(t, bytes.Count(s.text, []byte("\n")), maxLines, "%s: split it", s.path)
		}
	}
}

// Names without meaning attract unrelated code.
var empty = regexp.MustCompile(`(^|/)(utils?|common|helpers?|managers?|misc|shared)(/|$)`)

func TestPackagesAreNamedForWhatTheyGive(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		require.NotRegexp(t, empty, s.dir())
	}
}

// Every package has a package comment.
func TestEveryPackageHasAComment(t *testing.T) {
	t.Parallel()
	comment := regexp.MustCompile(`(?m)^(// (Package|Command) .*|\*/)\n(//.*\n)*package `)
	packages, commented := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest() || strings.HasPrefix(s.path, "proto/gen/") {
			continue
		}
		packages[s.dir()] = true
		commented[s.dir()] = commented[s.dir()] || comment.Match(s.text)
	}
	for dir := range packages {
		require.True(t, commented[dir], "%s has no package comment", dir)
	}
}
