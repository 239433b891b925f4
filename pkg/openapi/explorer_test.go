package openapi_test

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/openapi"
)

// TestExplorerRunsUnderAStrictPolicy looks for what the policy "default-src 'self'" forbids, and for markup made of text.
func TestExplorerRunsUnderAStrictPolicy(t *testing.T) {
	t.Parallel()
	forbidden := map[string]*regexp.Regexp{
		".js":  regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://`),
		".css": regexp.MustCompile(`@import|url\(`),
	}
	eachExplorerFile(t, func(name, text string) {
		rule := forbidden[path.Ext(name)]
		require.NotNil(t, rule, "%s is of no kind that is looked through", name)
		require.Empty(t, rule.FindString(text), name)
	})
}

// TestExplorerIsComplete follows every reference of the scripts to a file. The page of the gateway loads the first two.
func TestExplorerIsComplete(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	used := map[string]bool{"explorer.css": true, "explorer.js": true}
	reference := regexp.MustCompile(`from "\./([^"]+)"`)
	eachExplorerFile(t, func(name, text string) {
		there[name] = true
		for _, match := range reference.FindAllStringSubmatch(text, -1) {
			used[match[1]] = true
		}
	})
	require.Equal(t, there, used)
}

func eachExplorerFile(t *testing.T, visit func(name, text string)) {
	t.Helper()
	require.NoError(t, fs.WalkDir(openapi.ExplorerFiles, "explorer", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := openapi.ExplorerFiles.ReadFile(name)
		if err == nil {
			visit(strings.TrimPrefix(name, "explorer/"), string(text))
		}
		return err
	}))
}
