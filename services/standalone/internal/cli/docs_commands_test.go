package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fence is a block of code: its language, and its text.
var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// mention is a command between backquotes.
var mention = regexp.MustCompile("`(orch [^`]+)`")

// TestTheDocumentsCommandsWork executes the commands in the blocks of the pages about webhooks, in order, and checks that the
// commands and flags that their sentences mention exist.
func TestTheDocumentsCommandsWork(t *testing.T) {
	s, _ := newShell(t)
	docs, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "docs"))
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	for name, text := range map[string]string{
		"secret.txt": secret, "github-secret.txt": secret, "login.txt": "ada:" + secret,
		"key.txt": "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEd4EqGL3R6iOIgucnGOEfOIvn6CLvROGrwxdFjLfsfkEvPZjsLNPLR68mwwHhnJe80aRsFQ4WpaJzOszHmvib2g==",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text+"\n"), 0o600))
	}
	executed := 0
	for _, page := range []string{"recipes.md", "webhooks.md"} {
		text, err := os.ReadFile(filepath.Join(docs, page))
		require.NoError(t, err)
		for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
			if block[1] == "yaml" && strings.HasPrefix(block[2], "webhooks:") {
				require.NoError(t, os.WriteFile("webhooks.yaml", []byte(block[2]), 0o600))
			}
			if block[1] != "" && block[1] != "sh" || strings.Contains(block[2], "prefect.resource.id") { // The server's vocabulary is orch.
				continue
			}
			for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", " ")) {
				args := words(t, line)
				if len(args) == 0 {
					continue
				}
				require.Equal(t, "orch", args[0], "%s: %s", page, line)
				out, err := s.try("", args[1:]...)
				require.NoError(t, err, "%s: %s\n%s", page, line, out)
				executed++
			}
		}
		prose := fence.ReplaceAllString(string(text), "")
		for _, found := range mention.FindAllStringSubmatch(strings.ReplaceAll(prose, "\n", " "), -1) {
			args := append(words(t, found[1])[1:], "--help")
			out, err := s.try("", args...)
			require.NoError(t, err, "%s: %s\n%s", page, found[1], out)
			executed++
		}
	}
	require.Greater(t, executed, 30)
}

// words splits a command line as a shell does: single and double quotes, and comments.
func words(t *testing.T, line string) []string {
	t.Helper()
	var out []string
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, r := range strings.TrimSpace(line) {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			begun, quote = true, r
		case r == '#' && !begun:
			return out
		case r == ' ':
			if begun {
				out = append(out, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	require.Zero(t, quote, "an open quote in %s", line)
	if begun {
		out = append(out, word.String())
	}
	return out
}
