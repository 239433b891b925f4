package embeddedmongo_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/aggregate"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/command"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/expr"
)

// TestTheTableIsTheSubset keeps doc.go's table equal to what the code knows.
func TestTheTableIsTheSubset(t *testing.T) {
	b, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	rows := map[string]string{}
	row := ""
	inside := false
	for _, l := range strings.Split(string(b), "\n") {
		inside = inside || strings.Contains(l, "# Subset")
		if m := regexp.MustCompile(`^//\t(\S.*?) {2,}(.*)$`).FindStringSubmatch(l); m != nil && inside {
			row = m[1]
			rows[row] = m[2]
		} else if rest, ok := strings.CutPrefix(l, "//\t  "); ok && inside {
			rows[row] += " " + strings.TrimSpace(rest)
		} else {
			row = ""
		}
	}
	words := func(row, pattern string) []string { return regexp.MustCompile(pattern).FindAllString(rows[row], -1) }
	require.ElementsMatch(t, command.Commands(), words("commands", `[a-zA-Z]+`))
	require.ElementsMatch(t, expr.Operators(), words("expressions", `\$[a-zA-Z0-9]+`))
	require.ElementsMatch(t, aggregate.Accumulators, words("accumulators", `\$[a-zA-Z]+`))
	require.ElementsMatch(t, aggregate.Stages, words("stages", `\$[a-zA-Z]+`))
}
