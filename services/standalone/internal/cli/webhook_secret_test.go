package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A blank belongs to a secret: parts of a secret must never be secrets.
func TestSecretLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                             nil,
		"one":                          {"one"},
		"correct-horse battery-staple": {"correct-horse battery-staple"},
		"new secret\nold secret\n":     {"new secret", "old secret"},
		"windows\r\n\r\nline ends\r\n": {"windows", "line ends"},
		" \tindented ":                 {" \tindented "},
	} {
		require.Equal(t, want, secretLines(text), text)
	}
}
