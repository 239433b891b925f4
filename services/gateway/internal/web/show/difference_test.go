package show_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, after string
		want          []show.Difference
	}{
		{`{"a": 1, "b": [1, 2]}`, `{"b": [1, 2], "a": 1}`, nil},
		{`{"a": 1}`, `{"a": "1"}`, []show.Difference{{"$.a", "1", `"1"`}}},
		{`{"a": null}`, `{}`, []show.Difference{{"$.a", "null", ""}}},
		{`{}`, `{"a-b": {"c": true}}`, []show.Difference{{`$["a-b"]`, "", `{"c":true}`}}},
		{`{"a": [1, {"b": 2}]}`, `{"a": [1, {"b": 3}, 4]}`, []show.Difference{{"$.a[1].b", "2", "3"}, {"$.a[2]", "", "4"}}},
		{`{"id": "x", "n": {"id": 1}}`, `{"id": "y", "n": {"id": 2}}`, []show.Difference{{"$.n.id", "1", "2"}}},
		{`[1]`, `{"a": 1}`, []show.Difference{{"$", "[1]", `{"a":1}`}}},
		{`not JSON`, `not JSON`, nil},
		{`not JSON`, `{}`, []show.Difference{{"$", "not JSON", "{}"}}},
	} {
		t.Run(c.before, func(t *testing.T) {
			require.Equal(t, c.want, show.Differences([]byte(c.before), []byte(c.after), "$.id"), "%s and %s", c.before, c.after)
		})
	}
}

func TestDifferencesAreBounded(t *testing.T) {
	t.Parallel()
	var before, after []string
	for i := range 1000 {
		before, after = append(before, fmt.Sprintf(`"k%d": 1`, i)), append(after, fmt.Sprintf(`"k%d": 2`, i))
	}
	require.Len(t, show.Differences([]byte("{"+strings.Join(before, ",")+"}"), []byte("{"+strings.Join(after, ",")+"}")), 20)
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	require.NotPanics(t, func() { show.Differences([]byte(deep), []byte("1")) })
}

func FuzzDifferences(f *testing.F) {
	f.Add([]byte(`{"a": [1, 2]}`), []byte(`{"a": [2]}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if found := show.Differences(a, a); len(found) > 0 {
			t.Fatalf("a text differs from itself: %v", found)
		}
		show.Differences(a, b)
	})
}
