package rules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// page is the page about states, for readers.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "states.md"))
	require.NoError(t, err)
	return string(text)
}

// section is the text below a heading, as far as the next one.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, below, found := strings.Cut(text, heading+"\n")
	require.True(t, found, heading)
	if next := strings.Index(below, "\n#"); next >= 0 {
		below = below[:next]
	}
	return below
}

// The page lists the rules that there are, in their order, with the sets that they have.
func TestStatesPageListsTheRules(t *testing.T) {
	t.Parallel()
	text := page(t)
	for heading, rows := range map[string][][]string{
		"### Proposed by clients":                         listed(rules.CoreFlowPolicy),
		"### Forced transitions":                          listed(rules.MinimalFlowPolicy),
		"### Late runs, proposed by the server":           listed(rules.MarkLatePolicy),
		"### Lost runs, proposed by the server":           listed(rules.LostRunPolicy),
		"### Task runs of flow runs, proposed by clients": listed(rules.CoreTaskPolicy),
		"### Background task runs, proposed by clients":   listed(rules.BackgroundTaskPolicy),
		"### Forced transitions of task runs":             listed(rules.MinimalTaskPolicy),
	} {
		var shown [][]string
		for _, row := range tableRows(section(t, text, heading)) {
			shown = append(shown, row[:3])
		}
		require.Equal(t, rows, shown, heading)
	}
}

// listed are the rows of a policy: name, from, to.
func listed[R rules.Rule | rules.TaskRule](policy []R) [][]string {
	var rows [][]string
	for _, one := range policy {
		var row []string
		switch r := any(one).(type) {
		case rules.Rule:
			row = cells(r.Name, r.From, r.To, r.Universal)
		case rules.TaskRule:
			row = cells(r.Name, r.From, r.To, r.Universal)
		}
		rows = append(rows, row)
	}
	return rows
}

func cells(name string, from, to rules.Set, universal bool) []string {
	if universal {
		from, to = ^rules.Set(0), ^rules.Set(0)
	}
	return []string{name, vocab(from), vocab(to)}
}

// arrows are those of a mermaid diagram: from a state to one; "[*]" is the beginning or the end.
var arrows = regexp.MustCompile(`(?m)^    (\S+) --> (\S+?)(:.*)?$`)

type arrow struct{ from, to string }

// The pictures show what can happen: every arrow is a transition that some run makes on some proposal, and exactly the
// states in which runs have ended lead to the end.
func TestStatesPageDrawsWhatIsPossible(t *testing.T) {
	t.Parallel()
	for heading, possible := range map[string]map[arrow]bool{"## Flow runs": flowTransitions(), "## Task runs": taskTransitions()} {
		ends := map[string]bool{}
		found := arrows.FindAllStringSubmatch(section(t, page(t), heading), -1)
		require.Greater(t, len(found), 15, heading)
		for _, m := range found {
			if a := (arrow{m[1], m[2]}); a.to == "[*]" {
				ends[a.from] = true
			} else {
				require.True(t, possible[a], "%s: %s --> %s", heading, a.from, a.to)
			}
		}
		for number := range int32(len(orchv1.StateType_name)) {
			kind := orchv1.StateType(number)
			require.Equal(t, rules.Terminal(kind), ends[stateName(kind)], "%s: %s", heading, kind)
		}
	}
	for a := range flowTransitions() {
		require.False(t, a.from == "CANCELLING" && a.to != "CANCELLED", "from CANCELLING to %s", a.to)
	}
}

func stateName(kind orchv1.StateType) string {
	if kind == orchv1.StateType_STATE_TYPE_UNSPECIFIED {
		return "[*]"
	}
	return strings.TrimPrefix(kind.String(), "STATE_TYPE_")
}

// flowTransitions are the transitions that flow runs of all sorts make when each type of state is proposed.
func flowTransitions() map[arrow]bool {
	possible := map[arrow]bool{}
	sorts := []func(*orchv1.FlowRun){
		func(*orchv1.FlowRun) {},
		func(r *orchv1.FlowRun) { r.EmpiricalPolicy.Retries = new(int64(1)) },
		func(r *orchv1.FlowRun) { r.State.StateDetails.PauseTimeout = at(-time.Second) },
	}
	for _, from := range append([]orchv1.StateType{orchv1.StateType_STATE_TYPE_UNSPECIFIED}, types...) {
		for _, to := range types {
			for _, sort := range sorts {
				run := runIn(from, sort)
				policy := rules.CoreFlowPolicy
				if from == orchv1.StateType_STATE_TYPE_UNSPECIFIED {
					run.State, policy = nil, rules.MinimalFlowPolicy
				}
				got := judged(policy, run, propose(to), func(*rules.Transition) {})
				if got.Written() {
					possible[arrow{stateName(from), stateName(got.Run.GetState().GetType())}] = true
				}
			}
		}
	}
	return possible
}

// taskTransitions is flowTransitions for task runs.
func taskTransitions() map[arrow]bool {
	possible := map[arrow]bool{}
	cached := &orchv1.State{Type: completed, StateDetails: &orchv1.StateDetails{}}
	for _, from := range append([]orchv1.StateType{orchv1.StateType_STATE_TYPE_UNSPECIFIED}, types...) {
		for _, to := range types {
			for _, facts := range []rules.TaskFacts{
				{FlowRun: flowIn(running)}, {FlowRun: flowIn(paused)}, {FlowRun: flowIn(running), Cached: cached},
			} {
				attempts := int64(1)
				if facts.Cached != nil {
					attempts = 2 // None is left.
				}
				run := taskIn(from, retries(1, nil), ranTimes(attempts))
				policy := rules.CoreTaskPolicy
				if from == orchv1.StateType_STATE_TYPE_UNSPECIFIED {
					run.State, policy = nil, rules.MinimalTaskPolicy
				}
				got := judgeTask(policy, run, propose(to, proposalDetails(&orchv1.StateDetails{CacheKey: new("k")})), facts)
				if got.Written() {
					possible[arrow{stateName(from), stateName(got.Run.GetState().GetType())}] = true
				}
			}
		}
	}
	return possible
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
func vocab(s rules.Set) string {
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
