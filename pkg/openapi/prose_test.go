package openapi_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/vocabulary"
)

const (
	maxWords            = 25 // per sentence
	maxSummaryWords     = 10
	sentencesOperation  = 3
	sentencesDescribing = 1
)

// retired are private words that the glossary replaces; docs/glossary.md names their terms.
var retired = regexp.MustCompile(`(?i)\b(faults?|hurry|patience|linger|kin|relatives|catalog(ue)?|intake|nickname|spelling|` +
	`answered|told|carried out|asked for|is no|are no|whoever|repeats|of now|once more)\b`)

// TestOperationsAreDescribed checks every operation's summary and description, and the sentence of its tag.
func TestOperationsAreDescribed(t *testing.T) {
	t.Parallel()
	d := load(t, contract(t, vocabulary.Orch))
	for _, one := range d.Tags {
		requireProse(t, "the comment of the service tagged "+one.Name, one.Description, sentencesDescribing)
	}
	for name, op := range d.operations() {
		at := name + ": the comment of the rpc (summary, then description)"
		require.NotEmpty(t, op.Summary, at)
		require.NotContains(t, op.Summary, ".", at)
		require.LessOrEqual(t, len(strings.Fields(op.Summary)), maxSummaryWords, "%s: %q", at, op.Summary)
		requireProse(t, at, op.Description, sentencesOperation)
		for _, p := range op.Parameters {
			requireProse(t, name+": the comment of the parameter "+p.Name, p.Description, sentencesDescribing)
		}
	}
}

// TestPropertiesAreDescribed checks the sentence of every schema's properties.
func TestPropertiesAreDescribed(t *testing.T) {
	t.Parallel()
	for name, s := range load(t, contract(t, vocabulary.Orch)).Components.Schemas {
		if text, described := s["description"].(string); described {
			requireProse(t, "the comment of "+name, text, sentencesDescribing)
		}
		for property, value := range asRaw(s["properties"]) {
			text, _ := asRaw(value)["description"].(string)
			requireProse(t, "the comment of "+name+"."+property, text, sentencesDescribing)
		}
	}
}

// requireProse checks a description: present, at most so many sentences of at most 25 words, without retired words.
func requireProse(t *testing.T, at, text string, sentences int) {
	t.Helper()
	require.NotEmpty(t, text, "%s is missing", at)
	require.True(t, strings.HasSuffix(text, "."), "%s: no full stop: %q", at, text)
	parts := strings.Split(text, ". ")
	require.LessOrEqual(t, len(parts), sentences, "%s: too many sentences: %q", at, text)
	for _, one := range parts {
		require.LessOrEqual(t, len(strings.Fields(one)), maxWords, "%s: too long a sentence: %q", at, one)
	}
	require.Empty(t, retired.FindString(text), "%s: a retired word in %q", at, text)
}
