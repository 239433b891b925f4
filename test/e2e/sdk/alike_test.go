//go:build e2esdk

package sdk

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

// walks are scripts that call the complete API, each against new servers.
var walks = []struct {
	name, script string
	env          []string
}{
	{"client", "client", []string{"WALK_CLIENT=sync"}},
	{"async client", "client", []string{"WALK_CLIENT=async"}},
	{"sdk", "sdk", nil},
	{"command line", "cli", nil},
	{"flows in flows, maps, retries", "stories", []string{"WALK_PARTS=nested mapped retries"}},
	{"time-outs, caches, transactions", "stories", []string{"WALK_PARTS=timeouts caches transactions"}},
	{"hooks, states by hand", "stories", []string{"WALK_PARTS=hooks by_hand"}},
	{"meddling, limits", "stories", []string{"WALK_PARTS=interfered limits"}},
	{"logs, events, crashes, pauses", "stories", []string{"WALK_PARTS=logged happenings parameters generators crashes paused"}},
}

// TestServersAreAlike runs the SDK's clients, its abstractions and its command line against the Python server and both
// forms of the product. It compares the traffic and the results step by step. testdata/intended-differences.txt lists
// intended differences, testdata/unfinished.txt missing features.
func TestServersAreAlike(t *testing.T) {
	intended := testkit.ReadIntended(t, "testdata/intended-differences.txt")
	unfinished := testkit.ReadIntended(t, "testdata/unfinished.txt")
	whole := true
	for _, walk := range walks {
		ran := t.Run(walk.name, func(t *testing.T) {
			names, apis := []string{"Python server"}, []string{startReference(t)}
			for _, form := range forms {
				names, apis = append(names, form.name), append(apis, form.start(t).API())
			}
			outputs := make([]result, len(apis))
			var walking sync.WaitGroup
			for i, api := range apis {
				walking.Go(func() { outputs[i] = runPython(t, api, "walks", walk.script, walk.env...) })
			}
			walking.Wait()
			taken := make([]steps, len(apis))
			for i, output := range outputs {
				require.NoError(t, output.err, "against %s: %s", names[i], output.output)
				var err error
				taken[i], err = parseSteps(output.output)
				require.NoError(t, err, "against %s", names[i])
			}
			for i, ours := range taken[1:] {
				judge(t, names[i+1], taken[0], ours, intended, unfinished)
			}
		})
		whole = whole && ran
	}
	if whole && t.Run("all of them", func(*testing.T) {}) {
		intended.CheckUsed(t)
		for _, pattern := range unfinished.Unused() {
			t.Logf("no longer unfinished: %s", pattern)
		}
	}
}

// judge compares the steps of an Orch server with the Python server's.
func judge(t *testing.T, name string, theirs, ours steps, intended, unfinished *testkit.Intended) {
	t.Helper()
	var alike, meant, later, different int
	for _, step := range theirs.order {
		isMeant, isLater, isDifferent := false, false, false
		for _, difference := range differ(theirs.byName[step], ours.byName[step]) {
			difference = step + difference
			switch {
			case intended.Reason(difference) != "":
				isMeant = true
			case unfinished.Reason(difference) != "":
				isLater = true
			default:
				isDifferent = true
				t.Errorf("%s: %s", name, difference)
			}
		}
		switch {
		case isDifferent:
			different++
		case isLater:
			later++
		case isMeant:
			meant++
		default:
			alike++
		}
	}
	require.Equal(t, strings.Join(theirs.order, "\n"), strings.Join(ours.order, "\n"), "%s takes other steps", name)
	t.Logf("%s: of %d steps %d alike, %d but for intended differences, %d not there yet, %d different",
		name, len(theirs.order), alike, meant, later, different)
}
