package jinja

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoopsAreBounded(t *testing.T) {
	t.Parallel()
	bounded := New(Options{Loops: 3, LoopDepth: 2})
	loop := func(body string) string { return "{% for x in y %}" + body + "{% endfor %}" }
	for source, ok := range map[string]bool{
		"":                          true,
		strings.Repeat(loop(""), 3): true,
		strings.Repeat(loop(""), 4): false,
		loop(loop("")):              true,
		loop("{% if z %}" + loop(loop("")) + "{% endif %}"): false,
		loop(loop("")) + loop(""):                           true,
	} {
		_, err := bounded.Compile(source)
		if ok {
			require.NoError(t, err, source)
		} else {
			require.ErrorContains(t, err, "for loops", source)
		}
		_, err = New(Options{}).Compile(source)
		require.NoError(t, err, "without limits")
	}
	for source, want := range map[string]string{
		strings.Repeat(loop(""), 5): "Contains 5 for loops.",
		loop(loop(loop(""))):        "a depth of 3.",
	} {
		_, err := bounded.Compile(source)
		require.ErrorContains(t, err, want)
	}
}
