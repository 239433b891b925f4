package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/standalone/internal/cli"
)

// quoted is what stands between backquotes.
var quoted = regexp.MustCompile("`([^`]+)`")

// documented are the commands of the tables of docs/cli.md. Of several in a cell the first is whole; the others stand
// for its last word.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "cli.md"))
	require.NoError(t, err)
	found := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cell, ok := strings.CutPrefix(line, "| `orch ")
		if !ok {
			continue
		}
		cell, _, _ = strings.Cut("`orch "+cell, "|")
		var group string
		for i, match := range quoted.FindAllStringSubmatch(cell, -1) {
			name := match[1]
			switch {
			case i == 0:
				group = name[:strings.LastIndex(name, " ")]
			case !strings.HasPrefix(name, "orch "):
				name = group + " " + name
			}
			found[name] = true
		}
	}
	return found
}

func TestTheDocumentHasEveryCommand(t *testing.T) {
	named := documented(t)
	exist := map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		exist[path] = true
		if !cmd.HasSubCommands() {
			parent := named[cmd.Parent().CommandPath()]
			require.True(t, named[path] || parent || cmd.Hidden || cmd.Name() == "help" || cmd.Parent().Name() == "completion",
				"docs/cli.md does not name %s", path)
		}
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(cli.New("test"))
	for path := range named {
		require.True(t, exist[path], "docs/cli.md names %s", path)
	}
}
