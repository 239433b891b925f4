package schedule_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/schedule"
	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// vector is a query with what the reference answers.
type vector struct {
	schedule.Query

	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Family string `json:"family"`

	Expect      []string        `json:"expect"`
	ExpectCount *int            `json:"expect_count"`
	ExpectFirst []string        `json:"expect_first"`
	ExpectLast  []string        `json:"expect_last"`
	OtherBuild  []string        `json:"other_build"`
	Error       json.RawMessage `json:"error"`
}

// now is when definitions are read; only intervals without an anchor depend on it.
var now = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func lines[V any](t testing.TB, name string) []V {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	require.NoError(t, err)
	defer file.Close()
	var all []V
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var v V
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &v))
		all = append(all, v)
	}
	require.NoError(t, scanner.Err())
	return all
}

func format(times []time.Time) []string {
	texts := make([]string, len(times))
	for i, at := range times {
		texts[i] = schedule.Format(at)
	}
	slices.Sort(texts)
	return texts
}

func same(got, want []string) bool {
	want = slices.Clone(want)
	slices.Sort(want)
	return slices.Equal(got, want)
}

// check tells what is wrong with the answer to a vector; "" is nothing.
func (v vector) check() string {
	times, err := v.Times(now)
	got := format(times)
	switch {
	case v.Error != nil:
		if err == nil && len(times) > 0 {
			return "has times, where an error is expected"
		}
	case err != nil:
		return err.Error()
	case v.ExpectCount != nil:
		if len(got) != *v.ExpectCount || !same(got[:3], v.ExpectFirst) || !same(got[len(got)-3:], v.ExpectLast) {
			return "has other times"
		}
	case !same(got, v.Expect) && (v.OtherBuild == nil || !same(got, v.OtherBuild)):
		encoded, _ := json.Marshal(map[string]any{"got": got, "want": v.Expect, "or": v.OtherBuild})
		return string(encoded)
	}
	return ""
}

// untilWithZone lists the rules without DTSTART whose UNTIL names a zone. The reference accepts them and then computes no times;
// here they have times, see TestUntilVectors.
var untilWithZone = map[string]bool{"s0398": true, "s0522": true}

func TestVectors(t *testing.T) {
	t.Parallel()
	passed, total := map[string]int{}, map[string]int{}
	for _, v := range lines[vector](t, "vectors.jsonl") {
		if untilWithZone[v.ID] {
			continue
		}
		total[v.Kind]++
		if wrong := v.check(); wrong != "" {
			t.Errorf("%s %s %s: %s", v.ID, v.Family, v.Query.Schedule, wrong)
			continue
		}
		passed[v.Kind]++
	}
	for _, kind := range []string{"cron", "interval", "rrule"} {
		t.Logf("%-8s %4d of %4d", kind, passed[kind], total[kind])
	}
}

// TestUntilVectors covers both forms of UNTIL with and without DTSTART. The reference accepts a zoned UNTIL without DTSTART and then
// computes no times; the times are those of its library, python-dateutil, with the zones replaced as the reference does.
func TestUntilVectors(t *testing.T) {
	t.Parallel()
	for _, v := range lines[vector](t, "until-vectors.jsonl") {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, v.check(), string(v.Query.Schedule))
			_, err := schedule.ParseDefinition(v.Query.Schedule, now)
			require.Equal(t, v.Error != nil, err != nil, "%s: %v", v.Query.Schedule, err)
		})
	}
}

func TestCronVectors(t *testing.T) {
	t.Parallel()
	passed, all := 0, lines[vector](t, "cron-vectors.jsonl")
	for _, v := range all {
		var want []string
		for _, raw := range v.Next {
			var text string
			require.NoError(t, json.Unmarshal(raw, &text))
			want = append(want, text)
		}
		times, err := v.Times(now)
		if err != nil || !same(format(times), want) {
			t.Errorf("%s in %s from %s: %v %v, not %v", *v.Expr, v.Zone, v.Start, format(times), err, want)
			continue
		}
		passed++
	}
	t.Logf("%-8s %4d of %4d", "cron", passed, len(all))
}
