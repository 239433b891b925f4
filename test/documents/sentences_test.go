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

// longestSentence bounds the words of a sentence. The style guide asks for about 25; three more allow for names that
// count as several words.
const longestSentence = 28

var (
	sentenceEnd = regexp.MustCompile(`[.:;?!]["')\]]*(?:\s|$)`)
	fence       = regexp.MustCompile("(?s)```.*?```")
	span        = regexp.MustCompile("`[^`]*`")
	// A paragraph ends at a blank line; a list item, a heading and a table cell are paragraphs of their own.
	paragraphEnd = regexp.MustCompile(`\n\s*\n|\n\s*(?:[-*>#]|\d+\.)\s*|\s*\|\s*`)
)

// longSentences returns the sentences of a text that have too many words.
func longSentences(text string) []string {
	var long []string
	for _, paragraph := range paragraphEnd.Split(text, -1) {
		// A code span counts as one word.
		for _, sentence := range sentenceEnd.Split(span.ReplaceAllString(paragraph, "code"), -1) {
			if words := strings.Fields(sentence); len(words) > longestSentence {
				long = append(long, fmt.Sprintf("%d words: %s", len(words), strings.Join(words, " ")))
			}
		}
	}
	return long
}

func TestLongSentences(t *testing.T) {
	t.Parallel()
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	require.Empty(t, longSentences(words(longestSentence)+". "+words(longestSentence)+"."))
	require.Empty(t, longSentences("- "+words(20)+"\n- "+words(20)))
	require.Empty(t, longSentences(words(20)+"\n\n"+words(20)))
	require.Len(t, longSentences(words(20)+"\n"+words(20)), 1)
}

// prose is a Go comment without its diagrams and examples, which are indented.
func prose(comment string) string {
	lines := strings.Split(comment, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ") }), "\n")
}

// TestSentencesAreShort covers every comment of Go code that people write, and every document.
func TestSentencesAreShort(t *testing.T) {
	t.Parallel()
	var found []string
	for _, path := range ownGoFiles(t) {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, group := range file.Comments {
			for _, long := range longSentences(prose(group.Text())) {
				found = append(found, fmt.Sprintf("%s: %s", strings.TrimPrefix(set.Position(group.Pos()).String(), root+"/"), long))
			}
		}
	}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, long := range longSentences(fence.ReplaceAllString(string(text), "")) {
			page, err := filepath.Rel(root, page)
			require.NoError(t, err)
			found = append(found, page+": "+long)
		}
	}
	require.Empty(t, strings.Join(found, "\n"), "split these sentences")
}
