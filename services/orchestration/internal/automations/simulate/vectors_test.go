package simulate_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/automations/simulate"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// quirks are the tags of cases whose result rests on a defect of the reference.
var quirks = []string{"clock", "preempt", "gate", "sweep", "keys"}

func eachLine(t *testing.T, file string, visit func(line []byte)) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		visit(bytes.Clone(lines.Bytes()))
	}
	require.NoError(t, lines.Err())
}

// binding is what a firing must be, as text.
func binding(firings []simulate.Firing) []string {
	texts := make([]string, 0, len(firings))
	for _, f := range firings {
		event := "null"
		if f.Event != nil {
			event = *f.Event
		}
		labels, _ := json.Marshal(f.Labels)
		texts = append(texts, fmt.Sprintf("%04d %s %s %s %s", f.AtStep, f.Trigger, f.State, event, labels))
	}
	slices.Sort(texts)
	return texts
}

// Every case without a quirk's tag must fire exactly as the reference does. Cases with one may differ, and are listed in
// testdata/differences.txt with the reason.
func TestVectors(t *testing.T) {
	t.Parallel()
	expected := differences(t)
	exact, differing, total := 0, 0, 0
	judge := func(line []byte) {
		var c simulate.Case
		require.NoError(t, json.Unmarshal(line, &c))
		total++
		firings, err := c.Run()
		require.NoError(t, err, c.Name)
		want, got := binding(c.Expect), binding(firings)
		if slices.Equal(want, got) {
			exact++
			if expected[c.Name] != "" {
				t.Errorf("%s is listed as different and is exact", c.Name)
			}
			return
		}
		differing++
		tagged := slices.ContainsFunc(c.Tags, func(tag string) bool { return slices.Contains(quirks, tag) })
		if !tagged || expected[c.Name] == "" {
			t.Errorf("%s %v\n\twant %s\n\tgot  %s", c.Name, c.Tags, strings.Join(want, "\n\t     "), strings.Join(got, "\n\t     "))
		}
	}
	eachLine(t, "testdata/vectors.jsonl", judge)
	eachLine(t, "testdata/held-events.jsonl", judge)
	t.Logf("vectors: %d of %d as the reference fires, %d knowingly different", exact, total, differing)
}

// differences are the cases that knowingly differ, with the reason.
func differences(t *testing.T) map[string]string {
	t.Helper()
	expected := map[string]string{}
	eachLine(t, "testdata/differences.txt", func(line []byte) {
		name, reason, ok := strings.Cut(string(line), " ")
		if ok && !strings.HasPrefix(name, "#") {
			expected[name] = strings.TrimSpace(reason)
		}
	})
	return expected
}

func TestMatching(t *testing.T) {
	t.Parallel()
	right, total := 0, 0
	eachLine(t, "testdata/matching.jsonl", func(line []byte) {
		var want struct {
			Name    string `json:"name"`
			Matches bool   `json:"matches"`
		}
		require.NoError(t, json.Unmarshal(line, &want))
		total++
		if got := string(simulate.Line(line)); got != fmt.Sprintf("{\"matches\":%t}\n", want.Matches) {
			t.Errorf("%s: want %t, got %s", want.Name, want.Matches, got)
			return
		}
		right++
	})
	t.Logf("matching: %d of %d", right, total)
}
