package match_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/match"
)

// The comparisons of one event are bounded, whatever patterns a workspace has and however long the labels of the event are.
func TestComparisonsOfAnEventAreBounded(t *testing.T) {
	t.Parallel()
	const kB, mB = 1 << 10, 1 << 20
	for name, test := range map[string]struct {
		filters       int
		pattern, text string
		bounded       bool
	}{
		"10,000 short patterns, short label":            {10_000, "*x", strings.Repeat("a", 100), false},
		"10 patterns, label of 1 MB":                    {10, "*x", strings.Repeat("a", mB), false},
		"1,000 patterns, label of 1 MB":                 {1000, "*x", strings.Repeat("a", mB), true},
		"one pattern of 1 MB, label of 1 MB":            {1, strings.Repeat("*a", mB/2) + "x", strings.Repeat("a", mB), false},
		"1,000 long exact values, label of 1 MB":        {1000, strings.Repeat("b", kB), strings.Repeat("a", mB), false},
		"sets in a pattern of 1 kB, label of 1 kB":      {1, "*" + strings.Repeat("?", kB) + "x", strings.Repeat("a", kB), false},
		"sets in a pattern of 1 kB, label of 1 MB":      {1, "*" + strings.Repeat("[ab]", kB/4) + "x", strings.Repeat("a", mB), true},
		"10,000 patterns with sets, label of 10 kB":     {10_000, "*?a?b", strings.Repeat("a", 10*kB), true},
		"10,000 negated patterns, label of 100 kB":      {10_000, "!*x", strings.Repeat("a", 100*kB), true},
		"10,000 patterns of an absent label, any label": {10_000, "", strings.Repeat("a", mB), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			index := match.NewIndex[int]()
			for i := range test.filters {
				label := "text"
				if test.pattern == "" {
					label = "absent"
				}
				index.Add(match.NewFilter(&orchv1.EventTrigger{Match: labels(map[string]string{label: test.pattern})}), i)
			}
			found, effort, err := index.Takers(&orchv1.ReceivedEvent{Event: "e", Resource: &orchv1.Resource{Labels: map[string]string{"text": test.text}}})
			if test.bounded {
				require.ErrorIs(t, err, match.ErrEffort)
				require.Empty(t, found)
				return
			}
			require.NoError(t, err)
			require.LessOrEqual(t, effort, match.MaxEffort)
		})
	}
}

// BenchmarkEffort compares events that nearly fit, and reports the effort of a second in bytes.
func BenchmarkEffort(b *testing.B) {
	for name, test := range map[string]struct {
		filters       int
		pattern, text string
	}{
		"literal":          {100, "*ax*", strings.Repeat("a", 1<<20)},
		"repeated literal": {100, "*" + strings.Repeat("a", 1000) + "x*", strings.Repeat("a", 1<<20)},
		"many segments":    {100, strings.Repeat("*a", 1000) + "x*", strings.Repeat("a", 1<<20)},
		"questions":        {1, "*" + strings.Repeat("?", 20) + "x*", strings.Repeat("a", 1<<20)},
		"sets":             {1, "*" + strings.Repeat("[ab]", 5) + "x*", strings.Repeat("a", 1<<20)},
		"large sets":       {1, "*[" + strings.Repeat("bc", 500) + "]x*", strings.Repeat("a", 1<<15)},
	} {
		b.Run(name, func(b *testing.B) {
			index := match.NewIndex[int]()
			for i := range test.filters {
				index.Add(match.NewFilter(&orchv1.EventTrigger{Match: labels(map[string]string{"text": test.pattern})}), i)
			}
			e := &orchv1.ReceivedEvent{Event: "e", Resource: &orchv1.Resource{Labels: map[string]string{"text": test.text}}}
			for b.Loop() {
				_, effort, err := index.Takers(e)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(effort))
			}
		})
	}
}
