package documents_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unclear are forms of sentences that need a second reading, each with the reason.
var unclear = []struct {
	pattern *regexp.Regexp
	reason  string
}{
	{
		regexp.MustCompile(`^(?i:what|those (?:that|who|which|of|for|in|with|without)|that of|one (?:that|who|which)|who|which) .*[.:]$`),
		"the subject is a pronoun without an antecedent: name the thing",
	},
	{
		regexp.MustCompile(`\b(?:that|which|who) (?:is|are) none\b`),
		"the reader must look for the noun that is denied: name it, as in \"a malformed id\"",
	},
	{
		regexp.MustCompile(`\b(?:is|are|was|were) not there\b`),
		"it does not say whether something is missing, absent or deleted",
	},
}

var (
	sentenceEnd = regexp.MustCompile(`([.?!])["')\]]*(?:\s|$)`)
	fence       = regexp.MustCompile("(?s)```.*?```")
	span        = regexp.MustCompile("`[^`]*`")
	// A paragraph ends at a blank line; a list item, a heading and a table cell are paragraphs of their own.
	paragraphEnd = regexp.MustCompile(`\n\s*\n|\n\s*(?:[-*>#]|\d+\.)\s*|\s*\|\s*`)
)

// unclearSentences returns the sentences of a text that have an unclear form, each with the reason.
func unclearSentences(text string) []string {
	var found []string
	for _, paragraph := range paragraphEnd.Split(text, -1) {
		// A code span counts as one word. The end of a question is kept, because questions begin with pronouns.
		plain := sentenceEnd.ReplaceAllString(span.ReplaceAllString(paragraph, "code"), "$1\x00")
		for sentence := range strings.SplitSeq(plain, "\x00") {
			sentence = strings.Join(strings.Fields(sentence), " ")
			for _, form := range unclear {
				if form.pattern.MatchString(sentence) {
					found = append(found, fmt.Sprintf("%q: %s", sentence, form.reason))
				}
			}
		}
	}
	return found
}

func TestUnclearSentences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"Find returns the documents.":                          0,
		"What is left is deleted.":                             1,
		"It ends. Those that wait\nare woken.":                 1,
		"It ends. One that waits is woken.":                    1,
		"It has a limit. That of others differs.":              1,
		"Files have sizes. Those without one are skipped.":     1,
		"What is missing:":                                     1,
		"Who may do this?":                                     0,
		"what it holds":                                        0,
		"It knows what it holds, and who may read it.":         0,
		"An id that is none names nothing.":                    1,
		"A queue that is not there is created.":                1,
		"- A list.\n- Who reads it waits.":                     1,
		"`What` is a field.":                                   0,
		"| What | Where |\n| --- | --- |\n| a thing | there |": 0,
	} {
		require.Len(t, unclearSentences(text), want, text)
	}
}

// prose is a Go comment without its diagrams and examples, which are indented.
func prose(comment string) string {
	lines := strings.Split(comment, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ") }), "\n")
}

// TestSentencesNameTheirSubjects covers every comment of Go code that people write, and every document.
func TestSentencesNameTheirSubjects(t *testing.T) {
	t.Parallel()
	var found []string
	for _, path := range ownGoFiles(t) {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, group := range file.Comments {
			for _, unclear := range unclearSentences(prose(group.Text())) {
				found = append(found, fmt.Sprintf("%s: %s", strings.TrimPrefix(set.Position(group.Pos()).String(), root+"/"), unclear))
			}
		}
	}
	for _, page := range pages(t) {
		if filepath.Base(page) == "CHANGELOG.md" { // The entries of released versions stay as they are.
			continue
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, unclear := range unclearSentences(fence.ReplaceAllString(string(text), "")) {
			page, err := filepath.Rel(root, page)
			require.NoError(t, err)
			found = append(found, page+": "+unclear)
		}
	}
	require.Empty(t, strings.Join(found, "\n"), "rewrite these sentences")
}
