package jsontoken_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jsontoken"
)

func TestCountValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		n    int // Exact above the maximum of 10, else an upper bound.
		ok   bool
	}{
		"nothing":                      {"", 1, true},
		"one":                          {"1", 1, true},
		"a list":                       {"[1, 2, [], {}]", 7, true},
		"an object":                    {`{"a": 1, "b": {"c": []}}`, 5, true},
		"text with many commas":        {"a" + strings.Repeat(",", 50), 1, true},
		"a string with many commas":    {`["` + strings.Repeat(",", 50) + `"]`, 2, true},
		"numbers without brackets":     {strings.Repeat("1,", 50), 1, true},
		"too many":                     {"[" + strings.Repeat("{},", 50) + "{}]", 11, false},
		"too many in depth":            {strings.Repeat("[", 50) + strings.Repeat("]", 50), 11, false},
		"too many before a wrong sign": {"[" + strings.Repeat("0,", 50) + "x", 11, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, ok := jsontoken.CountValues([]byte(c.text), 10)
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.n, n)
		})
	}
}

func TestScanStopsAtTheMaximumOfValues(t *testing.T) {
	t.Parallel()
	limits := jsontoken.Limits{Depth: 10, Values: 4}
	require.NoError(t, jsontoken.Scan(`[1, [2]]`, limits, counter{}))
	require.ErrorContains(t, jsontoken.Scan(`[1, [2, {}]]`, limits, counter{}), "line 1, column 9: the text has more than 4 values")
}
