package documents_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// retired is a term that docs/glossary.md replaced.
type retired struct {
	words   []string // In lower case.
	pattern *regexp.Regexp
	instead string
}

// exception permits a retired term, or all of them, below a path.
type exception struct{ path, term string }

var tableRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|(?: ([^|]+) \|)?$`)

// glossary reads the retired terms, the retired names with their replacements, and the exceptions from docs/glossary.md.
func glossary(t *testing.T) (terms []retired, retiredNames map[string]string, exceptions []exception) {
	t.Helper()
	_, rest, found := strings.Cut(read(t, "docs", "glossary.md"), "## Retired terms")
	require.True(t, found)
	list, permitted, found := strings.Cut(rest, "### Exceptions")
	require.True(t, found)
	list, named, found := strings.Cut(list, "### Retired names")
	require.True(t, found)
	retiredNames = map[string]string{}
	for _, row := range tableRow.FindAllStringSubmatch(named, -1)[2:] {
		for name := range strings.SplitSeq(row[1], ", ") {
			retiredNames[name] = row[2]
		}
	}
	for _, row := range tableRow.FindAllStringSubmatch(list, -1)[2:] {
		words := strings.Fields(row[1])
		terms = append(terms, retired{
			words:   words,
			pattern: regexp.MustCompile(`(?i)\b` + strings.Join(words, `\s+`) + `s?\b`),
			instead: row[2],
		})
	}
	for _, row := range tableRow.FindAllStringSubmatch(permitted, -1)[2:] {
		require.NotEmpty(t, row[3], "the exception %s states its reason", row[1])
		exceptions = append(exceptions, exception{strings.Trim(row[1], "`"), row[2]})
	}
	require.Greater(t, len(terms), 20)
	require.Less(t, len(exceptions), 30, "the exceptions fit on a screen")
	return terms, retiredNames, exceptions
}

// identifierWords splits an identifier at underscores and changes of case: "OnHTTPFault" is on, http, fault.
func identifierWords(name string) []string {
	var words []string
	runes := []rune(name)
	start := 0
	for i := 1; i <= len(runes); i++ {
		switch {
		case i == len(runes),
			runes[i] == '_',
			unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]),
			unicode.IsUpper(runes[i]) && i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1]):
			if word := strings.Trim(string(runes[start:i]), "_"); word != "" {
				words = append(words, strings.ToLower(word))
			}
			start = i
		}
	}
	return words
}

func TestIdentifierWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"fault": {"fault"}, "BodyFault": {"body", "fault"}, "HTTPFault": {"http", "fault"}, "default": {"default"},
		"event_intake": {"event", "intake"}, "_": nil, "X": {"x"}, "sinceID": {"since", "id"},
	} {
		require.Equal(t, want, identifierWords(name), name)
	}
}

func (r retired) inIdentifier(words []string) bool {
	for i := range words {
		if i+len(r.words) <= len(words) && slices.Equal(words[i:i+len(r.words)], r.words) {
			return true
		}
	}
	return len(r.words) == 1 && slices.Contains(words, r.words[0]+"s")
}

// ownGoFiles returns the Go files that are not generated.
func ownGoFiles(t *testing.T) []string {
	t.Helper()
	var own []string
	for _, dir := range []string{"pkg", "services", "test", "tools", "proto"} {
		for _, file := range files(t, filepath.Join(root, dir), ".go") {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			if !generated.Match(text) {
				own = append(own, file)
			}
		}
	}
	return own
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// TestRetiredTermsStayRetired fails for a retired term in a file name, an identifier, a string, a comment, a proto comment
// or a document.
func TestRetiredTermsStayRetired(t *testing.T) {
	t.Parallel()
	terms, retiredNames, exceptions := glossary(t)
	permitted := func(path string, term retired) bool {
		path, err := filepath.Rel(root, path)
		require.NoError(t, err)
		return slices.ContainsFunc(exceptions, func(e exception) bool {
			return strings.HasPrefix(filepath.ToSlash(path), e.path) && (e.term == "all" || e.term == strings.Join(term.words, " "))
		})
	}
	var found []string
	report := func(path string, line int, term retired, text string) {
		if !permitted(path, term) {
			found = append(found, fmt.Sprintf("%s:%d: %q in %q; use: %s",
				strings.TrimPrefix(path, root+"/"), line, strings.Join(term.words, " "), strings.TrimSpace(text), term.instead))
		}
	}
	inName := func(path string, line int, name string) {
		if instead, ok := retiredNames[name]; ok {
			found = append(found, fmt.Sprintf("%s:%d: the name %q; use: %s", strings.TrimPrefix(path, root+"/"), line, name, instead))
		}
		words := identifierWords(name)
		for _, term := range terms {
			if term.inIdentifier(words) {
				report(path, line, term, name)
			}
		}
	}
	inText := func(path string, first int, text string) {
		for number, line := range strings.Split(text, "\n") {
			for _, term := range terms {
				if term.pattern.MatchString(line) {
					report(path, first+number, term, line)
				}
			}
		}
	}
	for _, path := range ownGoFiles(t) {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, group := range file.Comments {
			for _, comment := range group.List {
				inText(path, set.Position(comment.Pos()).Line, comment.Text)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Ident:
				inName(path, set.Position(n.Pos()).Line, n.Name)
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					inText(path, set.Position(n.Pos()).Line, n.Value)
				}
			}
			return true
		})
		inName(path, 1, strings.TrimSuffix(filepath.Base(path), ".go"))
	}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		inText(page, 1, string(text))
	}
	for _, path := range files(t, filepath.Join(root, "proto", "orch"), ".proto") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for number, line := range strings.Split(string(text), "\n") {
			if _, comment, ok := strings.Cut(line, "//"); ok {
				inText(path, number+1, comment)
			}
		}
	}
	slices.Sort(found)
	require.Empty(t, strings.Join(slices.Compact(found), "\n"), "docs/glossary.md lists the terms to use instead")
}
