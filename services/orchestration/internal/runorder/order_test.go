package runorder

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func names(runs []Run) (ids []string) {
	for _, run := range runs {
		ids = append(ids, run.ID)
	}
	return ids
}

// later is after the starts of all due runs.
var later = noon.Add(24 * time.Hour)

func waitingRun(deployment, id string, start time.Time, priority, weight int64) Run {
	return Run{Deployment: deployment, ID: id, Start: start, Rank: Rank(start, priority), Priority: priority, Weight: weight}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	run := func(id string, minutes, priority, weight int64) Run {
		return waitingRun(id[:1], id, noon.Add(time.Duration(minutes)*time.Minute), priority, weight)
	}
	for name, c := range map[string]struct {
		runs    []Run
		started []Run
		want    []string
	}{
		"by time within a deployment":    {runs: []Run{run("a2", 2, 0, 1), run("a1", 1, 0, 1), run("a3", 3, 0, 1)}, want: []string{"a1", "a2", "a3"}},
		"30 points are worth 30 minutes": {runs: []Run{run("a1", 0, 0, 1), run("a2", 29, 30, 1), run("a3", 31, 30, 1)}, want: []string{"a2", "a1", "a3"}},
		"deployments take turns":         {runs: []Run{run("a1", 0, 0, 1), run("a2", 1, 0, 1), run("b1", 9, 0, 1), run("b2", 9, 0, 1)}, want: []string{"a1", "b1", "a2", "b2"}},
		"a weight of 2 has two starts": {
			runs: []Run{run("a1", 0, 0, 2), run("a2", 1, 0, 2), run("a3", 2, 0, 2), run("a4", 3, 0, 2), run("b1", 4, 0, 1), run("b2", 5, 0, 1)},
			want: []string{"a1", "b1", "a2", "b2", "a3", "a4"},
		},
		"a priority comes before other deployments": {runs: []Run{run("a1", 0, 0, 1), run("b1", 9, 10, 1)}, want: []string{"b1", "a1"}},
		"the deployment that started before waits":  {runs: []Run{run("a1", 0, 0, 1), run("b1", 9, 0, 1)}, started: []Run{run("a0", 0, 0, 1)}, want: []string{"b1", "a1"}},
		"runs that are not due come last, by time": {
			runs: []Run{run("a9", 9_999, MaxPriority, 1), run("b8", 9_998, 0, 1), run("a1", 0, 0, 1), run("a2", 1, 0, 1), run("b1", 2, 0, 1)},
			want: []string{"a1", "b1", "a2", "b8", "a9"},
		},
		"runs without a rank come first": {
			runs: []Run{run("a1", 0, MaxPriority, 1), {Deployment: "a", ID: "a3", Start: noon.Add(time.Hour)}, {Deployment: "a", ID: "a2", Start: noon}},
			want: []string{"a2", "a3", "a1"},
		},
		"a weight of 0 counts as 1": {runs: []Run{run("a1", 0, 0, 0), run("b1", 1, 0, 1)}, want: []string{"a1", "b1"}},
		"nothing":                   {},
	} {
		t.Run(name, func(t *testing.T) {
			virtual := &VirtualTime{}
			for _, started := range c.started {
				virtual.Started(started)
			}
			require.Equal(t, c.want, names(Order(c.runs, virtual, later)))
		})
	}
}

// The order has every run once, whatever order the runs come in. Runs of a deployment are in the order of their ranks, and no deployment
// has two starts more than another one of its weight and priorities that still waits.
func TestOrderIsFair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		equal := rapid.Bool().Draw(t, "equal")
		runs := make([]Run, rapid.IntRange(0, 60).Draw(t, "runs"))
		weights := rapid.SliceOfN(rapid.Int64Range(1, MaxWeight), 5, 5).Draw(t, "weights")
		for i := range runs {
			d := rapid.IntRange(0, 4).Draw(t, "deployment")
			priority, weight := int64(0), int64(1)
			if !equal {
				priority, weight = rapid.Int64Range(0, MaxPriority).Draw(t, "priority"), weights[d]
			}
			start := noon.Add(time.Duration(rapid.IntRange(0, 9000).Draw(t, "start")) * time.Second)
			runs[i] = waitingRun(fmt.Sprint(d), fmt.Sprint(i), start, priority, weight)
		}
		ordered := Order(runs, &VirtualTime{}, later)
		if again := Order(rapid.Permutation(runs).Draw(t, "permutation"), &VirtualTime{}, later); !slices.Equal(ordered, again) {
			t.Fatalf("the order depends on that of the runs: %v, %v", ordered, again)
		}
		left := map[string]int{}
		for _, run := range runs {
			left[run.Deployment]++
		}
		served, last := map[string]int{}, map[string]Run{}
		for _, run := range ordered {
			if before, ok := last[run.Deployment]; ok && compare(before, run) > 0 {
				t.Fatalf("%v before %v", before, run)
			}
			last[run.Deployment] = run
			served[run.Deployment]++
			left[run.Deployment]--
			for other, n := range left {
				if equal && n > 0 && served[run.Deployment] > served[other]+1 {
					t.Fatalf("%s has %d starts, and %s %d", run.Deployment, served[run.Deployment], other, served[other])
				}
			}
		}
		for _, n := range left {
			if n != 0 {
				t.Fatalf("runs are missing or repeated: %v", left)
			}
		}
	})
}

// A flood of urgent runs of a deployment delays its other runs for as long as its points are worth.
func TestPrioritiesWithinADeploymentAge(t *testing.T) {
	t.Parallel()
	old := waitingRun("a", "old", noon, 0, 1)
	for minutes, first := range map[int]string{MaxPriority - 1: "urgent", MaxPriority + 1: "old"} {
		urgent := waitingRun("a", "urgent", noon.Add(time.Duration(minutes)*time.Minute), MaxPriority, 1)
		require.Equal(t, first, Order([]Run{old, urgent}, &VirtualTime{}, later)[0].ID, minutes)
	}
}

func TestVirtualTimeIsBounded(t *testing.T) {
	t.Parallel()
	virtual := &VirtualTime{}
	for i := range 3 * maxFinishes / 10 {
		virtual.Started(Run{Deployment: fmt.Sprint(i), Weight: 1})
		require.LessOrEqual(t, len(virtual.finishes), maxFinishes)
	}
}
