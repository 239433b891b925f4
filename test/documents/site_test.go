package documents_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// The index of the documents, from which the site has its navigation, names each page once. Decisions and measurements have lists of
// their own.
func TestIndexNamesEveryPage(t *testing.T) {
	t.Parallel()
	docs := filepath.Join(root, "docs")
	var listed []string
	for _, link := range links.FindAllStringSubmatch(read(t, "docs", "README.md"), -1) {
		if filepath.Ext(link[1]) == ".md" && link[2] == "" && !strings.HasPrefix(link[1], "..") {
			listed = append(listed, link[1])
		}
	}
	var want []string
	for _, page := range files(t, docs, ".md") {
		name, err := filepath.Rel(docs, page)
		require.NoError(t, err)
		if dir := filepath.Dir(name); name != "README.md" && dir != "adr" && (dir != "benchmarks" || filepath.Base(name) == "README.md") {
			want = append(want, filepath.ToSlash(name))
		}
	}
	_, sections, _ := strings.Cut(read(t, "docs", "README.md"), "\n## ")
	for _, page := range want {
		require.Equal(t, 1, strings.Count(sections, "]("+page+")"), "docs/README.md lists %s", page)
	}
	require.Subset(t, want, listed)
}

var (
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	linkText  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notAnchor = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_ -]`)
	anchors   = regexp.MustCompile(`\]\(([^)#:\s]*)#([^)\s]+)\)`)
)

// anchorsOf are the anchors that headings of a page have on the repository's host and on the site.
func anchorsOf(text string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := strings.ToLower(linkText.ReplaceAllString(match[1], "$1"))
		found[strings.ReplaceAll(notAnchor.ReplaceAllString(strings.TrimSpace(title), ""), " ", "-")] = true
	}
	return found
}

func TestDocumentsLinkToHeadingsThatThereAre(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, link := range anchors.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			target := page
			if link[1] != "" {
				target = filepath.Join(filepath.Dir(page), link[1])
			}
			if filepath.Ext(target) != ".md" {
				continue
			}
			linked, err := os.ReadFile(target)
			require.NoError(t, err)
			require.True(t, anchorsOf(string(linked))[link[2]], "%s links to %s#%s", page, link[1], link[2])
		}
	}
}

var sequence = regexp.MustCompile("(?s)```mermaid\nsequenceDiagram\n(.*?)```")

// A semicolon ends a statement of a sequence diagram, also within a text, and the rest is a syntax error.
func TestSequenceDiagramsHaveNoSemicolons(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, diagram := range sequence.FindAllStringSubmatch(string(text), -1) {
			require.NotContains(t, diagram[1], ";", page)
		}
	}
}

// outside matches addresses of other hosts.
var (
	outside     = regexp.MustCompile(`^\s*(?:[a-z]+:)?//`)
	styleImport = regexp.MustCompile(`(?:url\(|@import)\s*["']?((?:[a-z]+:)?//[^"')\s]+)`)
)

// requests finds the scripts, styles, images, frames and fonts that a browser loads with a page.
func requests(page string) (addresses []string) {
	tokens := html.NewTokenizer(strings.NewReader(page))
	for tokens.Next() != html.ErrorToken {
		token := tokens.Token()
		attributes := map[string]string{}
		for _, a := range token.Attr {
			attributes[a.Key] = a.Val
		}
		for name, value := range attributes {
			switch {
			case name == "src", name == "srcset", name == "poster", name == "data" && token.Data == "object",
				name == "href" && (token.Data == "link" || token.Data == "use" || token.Data == "image"):
				addresses = append(addresses, value)
			}
		}
	}
	for _, match := range styleImport.FindAllStringSubmatch(page, -1) {
		addresses = append(addresses, match[1])
	}
	return addresses
}

func TestRequests(t *testing.T) {
	t.Parallel()
	for page, want := range map[string][]string{
		`<script src="https://cdn.example.com/a.js"></script>`:         {"https://cdn.example.com/a.js"},
		`<link rel="stylesheet" href="//fonts.example.com/a.css">`:     {"//fonts.example.com/a.css"},
		`<img src="a.png"><a href="https://example.com">elsewhere</a>`: {"a.png"},
		`<style>@import "https://example.com/a.css";</style>`:          {"https://example.com/a.css"},
		`@font-face{src:url(https://example.com/a.woff2)}`:             {"https://example.com/a.woff2"},
	} {
		require.Equal(t, want, requests(page), page)
	}
}

// TestSite checks the site that ORCH_TEST_SITE names. Pages and styles request nothing from another host, the policy of each page makes the
// browser refuse such requests of scripts, and links to files of the repository lead to the repository.
func TestSite(t *testing.T) {
	t.Parallel()
	site := os.Getenv("ORCH_TEST_SITE")
	if site == "" {
		t.Skip("ORCH_TEST_SITE is not set: make site sets it")
	}
	written := map[string]int{}
	require.NoError(t, filepath.WalkDir(site, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		extension := filepath.Ext(path)
		written[extension]++
		if extension != ".html" && extension != ".css" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(requests(string(text)), outside.MatchString); i >= 0 {
			return fmt.Errorf("%s requests %s", path, requests(string(text))[i])
		}
		if extension == ".html" {
			require.Contains(t, string(text), `http-equiv="Content-Security-Policy" content="default-src 'self';`, path)
		}
		return nil
	}))
	require.Greater(t, written[".html"], len(files(t, filepath.Join(root, "docs"), ".md"))-1, "%v", written)
}
