package rules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// The page for readers lists the rules that there are, in their order, with the sets that they have.
func TestStatesPageListsTheRules(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "states.md"))
	require.NoError(t, err)
	_, core, found := strings.Cut(string(page), "### What clients propose\n")
	require.True(t, found)
	core, forced, found := strings.Cut(core, "### What is forced\n")
	require.True(t, found)
	for name, test := range map[string]struct {
		text   string
		policy rules.Policy
	}{
		"core": {core, rules.CoreFlowPolicy}, "minimal": {forced, rules.MinimalFlowPolicy},
	} {
		rows := tableRows(test.text)
		require.Len(t, rows, len(test.policy), name)
		for i, rule := range test.policy {
			from, to := rule.From, rule.To
			if rule.Universal {
				from, to = ^rules.Set(0), ^rules.Set(0)
			}
			require.Equal(t, []string{rule.Name, words(from), words(to)}, rows[i][:3], "%s, row %d", name, i+1)
		}
	}
}

// tableRows are the cells of the rows of the tables in a text, without their headers.
func tableRows(text string) [][]string {
	var rows [][]string
	header := true
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			header = true
		case strings.HasPrefix(line, "| ---"):
			header = false
		case !header:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

// words writes a set as the page does.
func words(s rules.Set) string {
	var in, out []string
	ended := true
	for number := range int32(len(orchv1.StateType_name)) {
		kind := orchv1.StateType(number)
		name := strings.TrimPrefix(kind.String(), "STATE_TYPE_")
		if s.Has(kind) {
			in = append(in, name)
		} else {
			out = append(out, name)
		}
		ended = ended && s.Has(kind) == rules.Terminal(kind)
	}
	switch {
	case len(out) == 0:
		return "any"
	case ended:
		return "ended"
	case len(out) <= 3:
		return "any but " + strings.Join(out, ", ")
	}
	return strings.Join(in, ", ")
}
